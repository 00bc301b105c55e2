"""A minimal MCP server: one tool, over standard input and output.

    a2c computer --config examples/mcp.json call greet who=world

mcp.json contains it, and notes_server.py, which also has a window and a document.
"""

from mcp.server import MCPServer

server = MCPServer("hello")


@server.tool()
def greet(who: str) -> str:
    """Greet a person by name."""
    return f"hello {who}"


if __name__ == "__main__":
    server.run()
