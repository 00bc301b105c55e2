"""An MCP server with a window: it shows the end of a file on the Desktop, and updates it as the file grows.

A Computer runs it like any other MCP server. At its prompt:

    a2c computer --name my-laptop
    my-laptop> add log python examples/windows_server.py /var/log/syslog
    my-laptop> desktop

A window is a resource whose address starts with `window://`. The Computer shows the windows of servers that declare
`resources.subscribe`, and reads a window again when the server notifies it of a change. This server uses the low-level
`Server` because a tool call is the only place where `MCPServer` can send that notification.
"""

import sys
from collections import deque
from pathlib import Path

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server import ServerRequestContext as Context
from mcp.server.stdio import stdio_server

FILE = Path(sys.argv[1])
WINDOW = types.Resource(uri="window://log.example/end?priority=50", name=f"The end of {FILE.name}")
subscriptions: set[str] = set()  # one set is enough: over stdio there is one client


def read_end() -> str:
    if not FILE.exists():
        return f"{FILE} does not exist yet.\n"
    with FILE.open(encoding="utf-8", errors="replace") as lines:
        return "".join(deque(lines, maxlen=20))


async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[WINDOW])


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=read_end())])


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscriptions.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscriptions.discard(params.uri)
    return types.EmptyResult()


async def watch(context: Context, params: types.NotificationParams) -> None:
    """As long as the client is connected, notify it when the file changes."""
    shown = read_end()
    while True:
        await anyio.sleep(1)
        if (now := read_end()) != shown:
            shown = now
            for uri in sorted(subscriptions):
                await context.session.send_resource_updated(uri)


async def main() -> None:
    server = Server(
        "log",
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
    )
    # A handler runs beside the others. This one starts with the connection and is cancelled when it closes.
    server.add_notification_handler("notifications/initialized", types.NotificationParams, watch)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
