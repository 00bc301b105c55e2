"""The Computer: hosts MCP servers and offers them to an office."""
