"""The smallest MCP server worth having: one tool, on standard input and output.

    a2c computer --config examples/mcp.json call greet who=world

mcp.json names it, and notes_server.py, which has a window and a document too.
"""

from mcp.server import MCPServer

server = MCPServer("hello")


@server.tool()
def greet(who: str) -> str:
    """Greet somebody by name."""
    return f"hello {who}"


if __name__ == "__main__":
    server.run()
