"""Pages of the lists that an Agent requests: prompts, resource templates and resources."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import orjson

from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.errors import MalformedRequestError

AT_ONCE = 500
"""Items in one answer."""
BYTES_AT_ONCE = 900_000
"""Bytes of the items in one answer: every Server accepts a message of 1,000,000 bytes. One item may be larger."""
KEPT_SECONDS = 30.0
"""Seconds for which a page of an MCP server is kept that is too large for one answer."""

T = TypeVar("T")


def cut(items: Sequence[T], start: int) -> int:
    """Where a page that begins at `start` ends."""
    end = size = 0
    for end in range(start, min(len(items), start + AT_ONCE)):
        size += len(orjson.dumps(items[end]))
        if size > BYTES_AT_ONCE:
            return max(end, start + 1)
    return min(len(items), start + AT_ONCE)


def page_of(items: Sequence[T], cursor: str | None) -> tuple[Sequence[T], str | None]:
    """A page of a list, and the cursor of the next. The cursor is a position in the list.

    Raises:
        MalformedRequestError: there is no such cursor.
    """
    start = 0
    if cursor is not None:
        # `isdigit` alone accepts digits such as ², which `int` rejects. The length bounds the work for a number that an
        # Agent makes up.
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
            raise MalformedRequestError("cursor: there is no such page")
        start = int(cursor)
    end = cut(items, start)
    return items[start:end], str(end) if end < len(items) else None


class Position(NamedTuple):
    """A place in the resource lists of all servers: what a cursor of `client:get_resources` stands for."""

    server: str
    cursor: str | None
    """The cursor of the server for one of its pages; None for its first."""
    offset: int
    """The items of that page that have been sent."""

    @classmethod
    def read(cls, text: str) -> Position:
        """The position that a cursor stands for.

        Raises:
            MalformedRequestError: it stands for none.
        """
        # The place is in the cursor itself, so that the Computer keeps nothing for each Agent.
        try:
            found: Any = orjson.loads(text)
        except ValueError:
            found = None
        match found:
            case [str(server), str() | None as cursor, int(offset)] if offset >= 0 and not isinstance(offset, bool):
                return cls(server, cursor, offset)
            case _:
                raise MalformedRequestError("cursor: there is no such page")

    def to_cursor(self) -> str:
        """The cursor for this position."""
        return orjson.dumps(list(self)).decode()


class ResourcePages:
    """The resource list of one connected server, page by page, as the server wrote it.

    A server may list 100,000 resources in one page, which is too much for one answer. Such a page is kept until its
    last part has been sent, or for a few seconds. Otherwise the server would have to send all of it for each part.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: tuple[str | None, list[dict[str, Any]], str | None] | None = None
        self._end_of_keeping: asyncio.TimerHandle | None = None

    async def page(self, cursor: str | None, offset: int) -> tuple[list[dict[str, Any]], tuple[str | None, int] | None]:
        """A part of the list, and where the next part begins: the cursor of its page, and the position in it.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        kept = self._kept
        if kept is None or kept[0] != cursor:
            items, after = await self._session.resource_page(cursor)
            kept = cursor, items, after
        _, items, after = kept
        end = cut(items, offset)
        self.forget()
        if end < len(items):
            self._kept = kept
            self._end_of_keeping = asyncio.get_running_loop().call_later(KEPT_SECONDS, self.forget)
            return items[offset:end], (cursor, end)
        # A server that repeats a cursor would send its pages for ever.
        return items[offset:end], (after, 0) if after is not None and after != cursor else None

    def forget(self) -> None:
        """The list has changed, or is not needed any more."""
        self._kept = None
        if self._end_of_keeping is not None:
            self._end_of_keeping.cancel()
            self._end_of_keeping = None
