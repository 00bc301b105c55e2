"""The three ways to reach an MCP server: standard input and output, streamable HTTP, SSE."""
