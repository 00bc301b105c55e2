"""An MCP server on `mcp` 1.x, over any transport; `scripts/environments.py` makes the environment it runs in."""

# What is installed for the type checker is 2.x, which has nothing of what is used here.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false, reportAttributeAccessIssue=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import argparse
import os

import anyio
from listening import serve
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("old", log_level="WARNING")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: float, b: float) -> float:
    return a + b


@server.tool()
async def slow(seconds: float) -> str:
    await anyio.sleep(seconds)
    return f"slept {seconds}"


@server.tool()
def env(name: str) -> str:
    return os.environ.get(name, "")


class Person(BaseModel):
    name: str


@server.tool()
async def ask(number: int, ctx: Context) -> str:
    answer = await ctx.elicit(f"Who is number {number}?", Person)
    return f"{number} is {answer.data.name}"


def look() -> str:
    return "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transport", choices=["stdio", "sse", "streamable"])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--window", action="store_true", help="have a window")
    options = parser.parse_args()
    if options.window:
        server.resource("window://old/board")(look)
    if options.transport == "stdio":
        server.run("stdio")
    elif options.transport == "sse":
        serve(server.sse_app(), "/sse", options.port)
    else:
        serve(server.streamable_http_app(), "/mcp", options.port)


if __name__ == "__main__":
    main()
