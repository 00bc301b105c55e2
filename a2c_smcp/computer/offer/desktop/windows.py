"""The windows of one connected MCP server: read on request, kept until they change."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from a2c_smcp.computer.mcp.listing import ListedWindow, Placement
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.organize import Pane, Screen, Window, render
from a2c_smcp.computer.offer.items import Item, Reading, Turn
from a2c_smcp.smcp import ResourceContents


@dataclass(eq=False, slots=True, kw_only=True)
class WindowItem(Item):
    """A listed window. The list gives its place on the Desktop before the content is read."""

    source: Windows
    placement: Placement
    pane: Pane | None = None
    """The last good content, ready to be shown."""
    reading: asyncio.Task[Pane | None] | None = None
    was_missed: bool = False
    """Whether a request was answered without its content: then the content is announced when it has been read."""

    @property
    def priority(self) -> int:
        """Windows with a higher priority come first."""
        return self.placement.priority

    @property
    def fullscreen(self) -> bool:
        """Whether it is shown alone."""
        return self.placement.fullscreen


class Windows:
    """`on_change` is called when a window that a request missed has been read, or when windows change their places."""

    def __init__(self, reading: Reading, budget: ByteBudget, on_change: Callable[[], None]) -> None:
        self._reading = reading
        self._budget = budget
        self._on_change = on_change
        self.items: dict[str, WindowItem] = {}
        self.screen: Screen[WindowItem] = Screen()

    def take(self, listed: Mapping[str, ListedWindow]) -> bool:
        """Take a new list; whether it has other windows than the last one."""
        before, self.items = self.items, {}
        has_moved = False
        for uri, (name, description, placement) in listed.items():
            item = before.get(uri)
            if item is None:
                item = WindowItem(uri, name, description, source=self, placement=placement)
            else:
                item.rename(name, description)
                has_moved |= item.placement != placement
                item.placement = placement
            self.items[uri] = item
        for uri, item in before.items():
            if uri not in self.items:
                self._drop(item)
        self.screen = Screen(self.items.values())
        if has_moved:
            self._on_change()
        return before.keys() != self.items.keys()

    def outdate(self, uri: str) -> None:
        """A window changed."""
        if (item := self.items.get(uri)) is not None:
            item.outdate()

    async def start_reading(self, item: WindowItem) -> asyncio.Task[Pane | None]:
        """Start to read a window, or join a reading that runs already."""
        if item.reading is None:
            turn = await self._reading.turn()
            if item.reading is None:  # checked again: another request may have started it during the wait
                item.reading = asyncio.create_task(self._read(item, turn), name=f"read {item.uri}")
            else:
                turn.end()
        return item.reading

    async def look_again(self) -> None:
        """Read the windows that an Agent saw before their changes were announced, and announce those that differ."""
        for item in list(self.items.values()):
            if item.pane is not None and item.needs_reading:
                await self.start_reading(item)
                item.was_missed = True

    def use(self, item: WindowItem) -> None:
        """An Agent gets this window."""
        self._budget.use(item)

    def close(self) -> None:
        """The connection has ended."""
        for item in self.items.values():
            self._drop(item)
        self.items, self.screen = {}, Screen()

    async def _read(self, item: WindowItem, turn: Turn) -> Pane | None:
        before = item.pane

        # Rendered and kept inside the read: its errors count as failures of the read, and the old content stays.
        def take(contents: list[ResourceContents]) -> Pane | None:
            item.pane = render(Window(self._reading.server, item.uri, contents))
            self._keep(item)
            return item.pane

        try:
            pane = await self._reading.read(item, turn, take)
            if item.was_missed and item.problem is None and pane != before:
                self._on_change()
            return pane if item.problem is None else item.pane
        finally:
            item.was_missed = False
            item.reading = None

    def _keep(self, item: WindowItem) -> None:
        # The size of the rendered text in memory: its characters may take one, two or four bytes each.
        def forget() -> None:
            item.pane = None
            item.is_fresh = False

        self._budget.keep(item, sys.getsizeof(item.pane.rendered) if item.pane is not None else 0, forget)

    def _drop(self, item: WindowItem) -> None:
        self._budget.release(item)
        if item.reading is not None:
            item.reading.cancel()
