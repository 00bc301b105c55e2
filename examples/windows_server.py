"""An MCP server with a window: the end of a file, which an Agent sees on the Desktop as it grows.

To a Computer it is a server like any other. At its prompt:

    a2c computer --name my-laptop
    my-laptop> add log python examples/windows_server.py /var/log/syslog
    my-laptop> desktop

A window is a resource whose address starts with `window://`. The Computer shows those of servers that declare
`resources.subscribe`, and looks again when the server says that one was updated. Hence the low-level `Server`: with
`MCPServer` only a tool that is being called can say it.
"""

import sys
from collections import deque
from pathlib import Path

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server

FILE = Path(sys.argv[1])
WINDOW = types.Resource(uri="window://log.example/end?priority=50", name=f"The end of {FILE.name}")
viewers: dict[str, ServerSession] = {}


def read_end() -> str:
    if not FILE.exists():
        return f"{FILE} is not there yet.\n"
    with FILE.open(encoding="utf-8", errors="replace") as lines:
        return "".join(deque(lines, maxlen=20))


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[WINDOW])


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=read_end())])


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    viewers[params.uri] = context.session
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    viewers.pop(params.uri, None)
    return types.EmptyResult()


async def watch() -> None:
    """Say it when the file has changed."""
    shown = read_end()
    while True:
        await anyio.sleep(1)
        if (now := read_end()) != shown:
            shown = now
            for uri, viewer in list(viewers.items()):
                await viewer.send_resource_updated(uri)


async def main() -> None:
    server = Server(
        "log",
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
    )
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
