"""An MCP server on the installed `mcp` 2.x with a window, written the ordinary way: it does nothing for the Desktop."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import anyio
from listening import serve
from mcp.server.mcpserver import Context, MCPServer

WINDOW = "window://windowed/board"

server = MCPServer("windowed", log_level="WARNING")
board = ["empty"]


@server.resource(WINDOW)
def look() -> str:
    return board[-1]


@server.tool()
async def write(text: str, ctx: Context, uri: str = WINDOW) -> str:
    board.append(text)
    await ctx.notify_resource_updated(uri)
    return text


@server.tool()
async def slow(seconds: float) -> str:
    await anyio.sleep(seconds)
    return f"slept {seconds}"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(slow, name=name)
    await ctx.notify_tools_changed()
    return name


def refusing(app: Any, status: int) -> Any:
    """The application, behind something that does not let requests of 2026-07-28 through."""
    error = {"code": -32000, "message": "Bad Request: Unsupported protocol version"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-protocol-version") == b"2026-07-28":
            kind = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": kind})
            await send({"type": "http.response.body", "body": body})
        else:
            await app(scope, receive, send)

    return refuse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transport", choices=["stdio", "sse", "streamable"])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--refuse", type=int, help="HTTP status that answers requests of 2026-07-28")
    parser.add_argument("--log", help="file to append a line to at each start")
    options = parser.parse_args()
    if options.log:
        with open(options.log, "a", encoding="utf-8") as log:
            log.write(json.dumps({"event": "start", "pid": os.getpid()}) + "\n")
    if options.transport == "stdio":
        server.run("stdio")
    elif options.transport == "sse":
        serve(server.sse_app(), "/sse", options.port)
    else:
        app = server.streamable_http_app()
        serve(refusing(app, options.refuse) if options.refuse else app, "/mcp", options.port)


if __name__ == "__main__":
    main()
