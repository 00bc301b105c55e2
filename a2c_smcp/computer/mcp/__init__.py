"""One connection to one MCP server: processes, transports, JSON-RPC, session and handshake."""
