"""An MCP server on the installed `mcp` 2.x, over any transport."""

from __future__ import annotations

import argparse
import os

import anyio
from listening import serve
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("everything", log_level="WARNING")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: float, b: float) -> float:
    return a + b


@server.tool()
def big(bytes: int) -> str:
    return "x" * bytes


@server.tool()
async def slow(seconds: float) -> str:
    await anyio.sleep(seconds)
    return f"slept {seconds}"


@server.tool()
def crash() -> None:
    os._exit(1)


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(echo, name=name)
    # The first is for those who listen as of 2026-07-28, the second for everybody before.
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return name


class Person(BaseModel):
    name: str


@server.tool()
async def ask_back(ctx: Context) -> str:
    """Asks the client something, then a person."""
    await ctx.session.send_ping()
    return str(await ctx.elicit("Who are you?", Person))


@server.tool()
def header(name: str, ctx: Context) -> str:
    return (ctx.headers or {}).get(name.lower(), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transport", choices=["stdio", "sse", "streamable"])
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.transport == "stdio":
        server.run("stdio")
    elif options.transport == "sse":
        serve(server.sse_app(), "/sse", options.port)
    else:
        serve(server.streamable_http_app(), "/mcp", options.port)


if __name__ == "__main__":
    main()
