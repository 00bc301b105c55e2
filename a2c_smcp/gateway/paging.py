"""Lists over several Computers, page by page. A page goes on over the next MCP servers and Computers until it is full,
because some hosts only look at the first; a cursor says where the next page begins."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import orjson

from a2c_smcp.errors import MalformedRequestError, NotFoundError, NotSupportedError, SMCPError

PAGE_BYTES = 900_000
"""The size of a page. Clients of MCP's library accept events of 1 MiB."""
FULL = 200
"""Items with which a page is full."""
FILL_SECONDS = 1.0
"""Time for a page to become full. A Computer that is slow has a page of its own."""
MOST_EMPTY = 50
"""Pages without items that are passed over for one request."""

T = TypeVar("T")

Fetch = Callable[[str, str | None], Awaitable[tuple[list[T], str | None]]]
"""Fetches a page of one Computer, from its own cursor on: the items, and the cursor of the next page."""


async def page(
    computers: Sequence[str], cursor: str | None, fetch: Fetch[T], *, full: int = FULL
) -> tuple[list[T], str | None]:
    """A page, and the cursor of the next. Computers without items are passed over.

    Raises:
        MalformedRequestError: the cursor is invalid.
        SMCPError: the only Computer fails.
    """
    current, theirs = _read(cursor) if cursor is not None else ("", None)
    # By name, and not by place: a Computer may have left since the last page.
    rest = [computer for computer in sorted(computers) if computer >= current]
    loop = asyncio.get_running_loop()
    until = loop.time() + FILL_SECONDS
    found: list[T] = []
    empty = 0
    for number, computer in enumerate(rest):
        begin = theirs if computer == current else None
        while True:
            try:
                async with asyncio.timeout_at(until if found else None):
                    items, following = await fetch(computer, begin)
            except (SMCPError, TimeoutError) as error:
                if found:  # the next page shows what is wrong
                    return found, _write(computer, begin)
                if isinstance(error, MalformedRequestError) and begin is not None:
                    raise MalformedRequestError("cursor: invalid; list again from the start") from None
                # A Computer that left, does not answer, or has no such lists must not hide the others.
                if len(computers) == 1 and not isinstance(error, NotFoundError | NotSupportedError):
                    raise
                break
            if found and items and _size(found) + _size(items) > PAGE_BYTES:
                return found, _write(computer, begin)
            found += items
            empty += not items
            # A page may have nothing for this profile. The bound is for a Computer whose list never ends.
            if len(found) >= full or empty == MOST_EMPTY or (found and loop.time() >= until):
                return found, _following(rest[number:], following)
            if following is None or following == begin:
                break
            begin = following
    return found, None


def _size(items: Sequence[Any]) -> int:
    return len(orjson.dumps(items))


def _following(rest: Sequence[str], cursor: str | None) -> str | None:
    """The cursor of the page after one of the first Computer, whose own cursor is given."""
    if cursor is not None:
        return _write(rest[0], cursor)
    return _write(rest[1], None) if len(rest) > 1 else None


def _write(computer: str, cursor: str | None) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([computer, cursor])).decode()


def _read(cursor: str) -> tuple[str, str | None]:
    try:
        found: Any = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except ValueError:
        found = None
    match found:
        case [str(computer), str() | None as theirs]:
            return computer, theirs
        case _:
            raise MalformedRequestError("cursor: invalid; list again from the start")
