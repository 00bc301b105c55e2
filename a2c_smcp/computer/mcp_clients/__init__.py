"""MCP servers as this Computer knows them: their configuration, their connections, and the manager of all."""
