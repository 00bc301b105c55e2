"""The library as an MCP server."""
