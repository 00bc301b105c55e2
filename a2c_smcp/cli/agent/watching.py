"""Names the changes in an office. Notifications say only that something changed, so the state is fetched and compared.

At most one fetch runs for each Computer and kind. Notifications that arrive during it lead to one more fetch.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from a2c_smcp.agent.base import SETTLE_SECONDS
from a2c_smcp.agent.client import Changes
from a2c_smcp.cli.agent.session import Session, logger
from a2c_smcp.errors import SMCPError, TimedOutError
from a2c_smcp.protocol.requests import LARGEST_LIMIT
from a2c_smcp.protocol.upkeep import Change, ChangeKind, Kind

FETCHED: tuple[Kind, ...] = ("config", "desktop", "finder")
"""The kinds of state that the Agent does not keep up to date by itself."""


@dataclass(frozen=True)
class Item:
    """One thing in a state."""

    what: str
    """`tool`, `window`, `document`, `MCP server` or `input`."""
    name: str
    uri: str | None
    value: Any
    """Its data, for the comparison."""


@dataclass(frozen=True)
class State:
    """The things of one kind on a Computer, by a stable key. `total` is larger than the number of items if the list was
    cut off."""

    items: dict[str, Item]
    total: int


@dataclass(frozen=True)
class Difference:
    """One thing that was added, removed or changed."""

    item: Item
    how: Literal["added", "removed", "changed"]

    def to_json(self) -> dict[str, Any]:
        """For a program."""
        address = {"uri": self.item.uri} if self.item.uri is not None else {}
        return {"what": self.item.what, "name": self.item.name, "how": self.how, **address}


@dataclass(frozen=True)
class News:
    """One notification, with the differences that were found."""

    kind: ChangeKind
    computer: str | None
    data: Any = None
    """The data of the notification."""
    differences: tuple[Difference, ...] = ()
    total: int | None = None
    """The number of things, if there is no earlier state to compare with."""
    failure: str | None = None
    """Why the new state could not be fetched."""

    def to_json(self) -> dict[str, Any]:
        """For a program."""
        changes = [difference.to_json() for difference in self.differences]
        return {"kind": self.kind, "computer": self.computer, "data": self.data, "changes": changes}


class Watch:
    """The changes of an office as they arrive: `async with Watch(session) as watch: async for news in watch`."""

    def __init__(self, session: Session) -> None:
        self._visit = session
        self._known: dict[tuple[str, Kind], State] = {}
        self._news: asyncio.Queue[News | None] = asyncio.Queue()
        self._fetches: dict[tuple[str, Kind], asyncio.Task[None]] = {}
        self._announced: set[tuple[str, Kind]] = set()
        """The states that have changed since their last fetch began."""
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        agent = self._visit.agent
        with contextlib.suppress(TimedOutError):
            await agent.wait_for(timeout=SETTLE_SECONDS)
        # After the wait, so that the tools that the Agent fetched on joining are not reported as changes. Before the
        # first fetch, so that no change between the fetch and the subscription is lost.
        changes = agent.changes()
        for computer, tools in agent.tools.items():
            self._known[computer, "tools"] = state_of("tools", tools)
            self._look_at(computer)
        if self._fetches:
            await asyncio.wait(self._fetches.values(), timeout=SETTLE_SECONDS)
        self._following = asyncio.create_task(self._follow(changes))
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tasks = [*self._fetches.values(), *([self._following] if self._following is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> News:
        news = await self._news.get()
        if news is None:
            raise StopAsyncIteration
        return news

    async def _follow(self, changes: Changes) -> None:
        try:
            async for change in changes:
                self._take(change)
        finally:
            self._news.put_nowait(None)  # ends the iteration: the changes end when the Agent disconnects

    def _take(self, change: Change) -> None:
        kind, computer = change.kind, change.computer
        if kind == "tools" and computer is not None:
            self._compare((computer, kind), state_of(kind, change.data), change.data)
            return
        if kind in ("config", "desktop", "finder") and computer is not None:
            self._announced.add((computer, kind))
            self._fetch((computer, kind))
            return
        self._news.put_nowait(News(kind, computer, change.data))
        if kind == "enter" and computer is not None:
            self._look_at(computer)
        elif kind == "leave" and computer is not None:
            # A Computer that comes back starts anew: it may be another machine with the same name.
            self._known = {key: state for key, state in self._known.items() if key[0] != computer}
        elif kind == "rejoined":
            for each in self._visit.agent.computers:
                self._look_at(each)

    # --------------------------------------------------------------------------------------------------------- fetching

    def _look_at(self, computer: str) -> None:
        for kind in FETCHED:
            self._fetch((computer, kind))

    def _fetch(self, key: tuple[str, Kind]) -> None:
        if key not in self._fetches:
            task = self._fetches[key] = asyncio.create_task(self._fetch_until_current(key))
            task.add_done_callback(lambda _: self._fetches.pop(key, None))

    async def _fetch_until_current(self, key: tuple[str, Kind]) -> None:
        while True:
            # Cleared before the request: a notification that arrives while the answer is on its way leads to another
            # fetch, because the answer may be older than the change.
            is_announced = key in self._announced
            self._announced.discard(key)
            try:
                state = state_of(key[1], await self._ask(*key))
            except SMCPError as error:
                logger.debug("cannot fetch the %s of %s: %s", key[1], key[0], error)
                if is_announced and key[0] in self._visit.agent.computers:
                    self._news.put_nowait(News(key[1], key[0], failure=f"{error.message} ({error.code})"))
            else:
                self._compare(key, state, is_announced=is_announced)
            if key not in self._announced:
                return

    async def _ask(self, computer: str, kind: Kind) -> Any:
        agent, seconds = self._visit.agent, self._visit.options.timeout
        match kind:
            case "config":
                return await agent.get_config_from_computer(computer, seconds)
            case "desktop":
                return (await agent.get_desktop_from_computer(computer, timeout=seconds))["desktops"]
            case _:
                return await agent.get_finder(computer, limit=LARGEST_LIMIT, timeout=seconds)

    def _compare(self, key: tuple[str, Kind], state: State, data: Any = None, *, is_announced: bool = True) -> None:
        before = self._known.get(key)
        self._known[key] = state
        differences = tuple(differences_of(before, state)) if before is not None else ()
        if differences or is_announced:
            total = state.total if before is None else None
            self._news.put_nowait(News(key[1], key[0], data, differences, total))


# ------------------------------------------------------------------------------------------------------------ comparing


def state_of(kind: Kind, data: Any) -> State:
    """The state in an answer of a Computer."""
    items = dict(_items(kind, data))
    return State(items, data["total_count"] if kind == "finder" else len(items))


def _items(kind: Kind, data: Any) -> Iterator[tuple[str, Item]]:
    match kind:
        case "tools":
            for tool in data:
                yield tool["name"], Item("tool", tool["name"], None, tool)
        case "config":
            for name, server in data["servers"].items():
                yield f"server {name}", Item("MCP server", name, None, server)
            for wanted in data.get("inputs") or ():
                yield f"input {wanted['id']}", Item("input", wanted["id"], None, wanted)
        case "desktop":
            for shown in data:
                uri, _, body = shown.partition("\n\n")
                yield uri, Item("window", uri, uri, body)
        case "finder":
            for entry in data["documents"]:
                yield f"{entry['server']} {entry['uri']}", Item("document", entry["title"], entry["uri"], entry)


def differences_of(before: State, after: State) -> Iterator[Difference]:
    """The differences between two states."""
    # A list that is cut off is a window onto more items. An item that enters or leaves the window is not certain to be
    # new or gone, for example if another one got a newer date. Only a change of the total shows that.
    are_complete = len(before.items) == before.total and len(after.items) == after.total
    for key, item in after.items.items():
        if key not in before.items:
            yield Difference(item, "added" if are_complete or after.total > before.total else "changed")
        elif before.items[key].value != item.value:
            yield Difference(item, "changed")
    if are_complete or after.total < before.total:
        yield from (Difference(item, "removed") for key, item in before.items.items() if key not in after.items)
