"""Logins at remote MCP servers. The protocol of OAuth is that of `mcp.client.auth`; this package adds what it lacks."""
