"""The smallest MCP server worth having: one tool, on standard input and output."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("hello")


@server.tool()
def greet(who: str) -> str:
    """Greet somebody by name."""
    return f"hello {who}"


if __name__ == "__main__":
    server.run()
