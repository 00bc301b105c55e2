"""`a2c mcp`: an office for an MCP host that starts a command, and the configuration of such hosts."""
