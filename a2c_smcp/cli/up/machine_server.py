"""The built-in MCP server of `a2c up`: two windows, the machine and the activity of the office.

`python -m a2c_smcp.cli.up.machine_server NAME JOURNAL`, over standard input and output.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

import a2c_smcp
from a2c_smcp.utils.audience import Audience
from a2c_smcp.utils.system.resources import load_average, memory_use

logger = logging.getLogger("a2c.up")

MACHINE = "window://a2c.up/machine?priority=40"
ACTIVITY = "window://a2c.up/activity?priority=60"
MACHINE_SECONDS = 30.0
"""Seconds between two looks at load, memory and disk."""
LOOK_SECONDS = 5.0
"""Seconds between two looks at the activity file, where it cannot be watched."""
RESOURCE_NOT_FOUND = -32002
_GB = 1e9


def machine(name: str) -> str:
    """The text of the window about this machine."""
    lines = [
        f"# {name}",
        "",
        f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
    ]
    if loads := load_average():
        lines.append("load: " + " ".join(f"{load:.1f}" for load in loads))
    if (memory := memory_use()) is not None:
        lines.append(f"memory: {memory[0] / _GB:.1f} of {memory[1] / _GB:.1f} GB used")
    with contextlib.suppress(OSError, RuntimeError):  # a user without a home
        disk = shutil.disk_usage(Path.home())
        lines.append(f"disk: {disk.free / _GB:.0f} of {disk.total / _GB:.0f} GB free")
    return "\n".join(lines)


def activity(journal: Path) -> str:
    """The text of the window about the office."""
    try:
        return "# Recent activity\n\n" + (journal.read_text("utf-8").rstrip() or "nothing yet")
    except OSError as error:
        return f"# Recent activity\n\ncannot read it: {error.strerror}"


class Windows:
    """The windows as an MCP server."""

    def __init__(self, name: str, journal: Path) -> None:
        self._journal = journal
        self._windows: dict[str, tuple[str, Callable[[], str]]] = {
            MACHINE: ("This machine", lambda: machine(name)),
            ACTIVITY: ("Recent activity", lambda: activity(journal)),
        }
        self._audience = Audience()
        self._server: Server[Any] = Server(
            "machine",
            version=a2c_smcp.__version__,
            on_list_resources=self._list,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._audience.listener,
        )

    async def serve(self) -> None:
        """Serve until the client closes the connection."""
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_machine)
            tasks.start_soon(self._watch_activity)
            await self._server.run(incoming, outgoing, self._server.create_initialization_options())
            tasks.cancel_scope.cancel()  # the two watchers never end by themselves

    async def _list(self, context: Any, params: Any) -> types.ListResourcesResult:
        self._audience.meet(context)
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=name, mime_type="text/markdown")
                for uri, (name, _) in self._windows.items()
            ]
        )

    async def _read(self, context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        window = self._windows.get(str(params.uri))
        if window is None:
            raise MCPError(RESOURCE_NOT_FOUND, f"no such window: {params.uri}")
        text = await anyio.to_thread.run_sync(window[1])
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _subscribe(self, context: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self._audience.meet(context).add(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, context: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._audience.meet(context).discard(str(params.uri))
        return types.EmptyResult()

    async def _watch_machine(self) -> None:
        shown = ""
        while True:
            text = await anyio.to_thread.run_sync(self._windows[MACHINE][1])
            if text != shown:
                shown = text
                await self._audience.tell_updated(MACHINE)
            await anyio.sleep(MACHINE_SECONDS)

    async def _watch_activity(self) -> None:
        """Announce changes of the journal; poll it where it cannot be watched."""
        # inotify has a limit of watches per user, which an editor or a build can use up. The window must work anyway.
        try:
            await self._hear_of_activity()
        except Exception as error:
            logger.warning("cannot watch the activity file; polling it instead: %s", error)
        shown = ""
        while True:
            text = await anyio.to_thread.run_sync(activity, self._journal)
            if text != shown:
                shown = text
                await self._audience.tell_updated(ACTIVITY)
            await anyio.sleep(LOOK_SECONDS)

    async def _hear_of_activity(self) -> None:
        """Announce changes that the system reports."""
        # The folder, not the file: each write replaces the file, and a watch on the old one would report nothing more.
        watchfiles: Any = importlib.import_module("watchfiles")
        async for changes in watchfiles.awatch(self._journal.parent, watch_filter=None, recursive=False, step=100):
            if any(Path(path).name == self._journal.name for _, path in changes):
                await self._audience.tell_updated(ACTIVITY)


if __name__ == "__main__":
    anyio.run(Windows(sys.argv[1], Path(sys.argv[2])).serve)
