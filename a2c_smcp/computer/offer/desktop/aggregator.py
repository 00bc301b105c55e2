"""The Desktop of a Computer: the windows of all MCP servers. Only those that are shown are read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import anyio

from a2c_smcp.computer.offer.aggregator import Aggregator
from a2c_smcp.computer.offer.desktop.organize import Pane, Screen, line_up
from a2c_smcp.computer.offer.desktop.windows import WindowItem, Windows
from a2c_smcp.computer.offer.items import now
from a2c_smcp.computer.offer.server_order import UsedServers
from a2c_smcp.errors import TooLargeError
from a2c_smcp.smcp import Desktop

MAX_BYTES = 64_000_000
"""Characters that all windows of one answer may hold, unless the request allows less."""


class DesktopAggregator(Aggregator):
    """Shows the windows of all servers. Their addresses give the order, before any content is read."""

    async def look(
        self,
        size: int | None,
        window_uri: str | None,
        history: UsedServers | None,
        *,
        patience: float,
        max_bytes: int = MAX_BYTES,
    ) -> list[Desktop]:
        """The windows in their order, rendered: at most `size`, or one. A window that is not read within `patience`
        seconds is missing, or shown as it was.

        Raises:
            TooLargeError: the windows hold more than `max_bytes`.
        """
        deadline = now() + patience
        # Lists get half of the time, so that a server that does not list leaves time for the windows of the others.
        await asyncio.gather(*(view.be_listed(now() + patience / 2) for view in self._views()))
        screens = {view.server: _screen(view.windows, window_uri) for view in self._views()}
        look = _Look()
        # A window may turn out to be empty or unreadable only when it is read, and then the next one takes its place.
        # So this repeats until every window in the line-up has been read; each round reads only what is missing.
        while True:
            lined_up = line_up(screens, look.is_out, size, history)
            panes, unread = look.sort(lined_up)
            room = max_bytes - sum([len(pane.rendered) for pane in panes])
            if room < 0:
                raise TooLargeError(
                    f"the windows hold more than {max_bytes} bytes; ask for fewer",
                    details={"max_bytes": max_bytes, "windows": len(lined_up)},
                )
            if not unread:
                break
            if not await look.read(unread, room, deadline):
                lined_up = line_up(screens, lambda item: look.pane(item) is None, size, history)
                panes, _ = look.sort(lined_up)
                break
        for item in lined_up:
            item.source.use(item)
        return [pane.rendered for pane in panes]


class _Look:
    """One request, and what was read for it. The cache may have dropped it already: its memory is limited."""

    def __init__(self) -> None:
        self._seen: dict[WindowItem, Pane | None] = {}

    def pane(self, item: WindowItem) -> Pane | None:
        """The window as it was read now, else as it was read before."""
        return self._seen.get(item) or item.pane

    def is_out(self, item: WindowItem) -> bool:
        """Whether the window is known to have nothing to show."""
        # Called for every window of every request. Most have been read and are shown, which the first test answers.
        return item.pane is None and self.pane(item) is None and not self._wants(item)

    def sort(self, items: Sequence[WindowItem]) -> tuple[list[Pane], list[WindowItem]]:
        """What is known of these windows, in their order, and which of them must be read for this request."""
        panes: list[Pane] = []
        unread: list[WindowItem] = []
        for item in items:
            if (pane := self._seen.get(item) or item.pane) is not None:
                panes.append(pane)
            if self._wants(item):
                unread.append(item)
        return panes, unread

    def _wants(self, item: WindowItem) -> bool:
        return item.needs_reading and item not in self._seen

    async def read(self, items: Sequence[WindowItem], room: int, deadline: float) -> bool:
        """Read windows side by side until there is no room for more; whether that was done before the deadline."""

        async def wait_for(item: WindowItem, reading: asyncio.Task[Pane | None]) -> None:
            nonlocal room
            try:
                await asyncio.wait((reading,))
            except asyncio.CancelledError:
                # The deadline of this request. The reading continues for the next one, and is announced when it is
                # done.
                item.was_missed = True
                raise
            pane = None if reading.cancelled() else reading.result()
            self._seen[item] = pane
            room -= len(pane.rendered) if pane is not None else 0

        # Server by server, side by side: a server whose turns are all taken must not hold up the windows of another.
        # The answer has a size limit, and reading stops when it is reached, because the request is going to fail
        # anyway.
        async def read_in_turn(mine: Iterable[WindowItem]) -> None:
            for item in mine:
                if room < 0:
                    return
                tasks.start_soon(wait_for, item, await item.source.start_reading(item))

        by_server: dict[Windows, list[WindowItem]] = {}
        for item in items:
            by_server.setdefault(item.source, []).append(item)
        with anyio.move_on_after(max(deadline - now(), 0)) as scope:
            async with anyio.create_task_group() as tasks:
                for mine in by_server.values():
                    tasks.start_soon(read_in_turn, mine)
        return not scope.cancelled_caught


def _screen(windows: Windows, uri: str | None) -> Screen[WindowItem]:
    if uri is None:
        return windows.screen
    item = windows.items.get(uri)
    return Screen([item] if item is not None else ())
