"""The owner of each MCP server: starts it, watches it, restarts it, stops it."""
