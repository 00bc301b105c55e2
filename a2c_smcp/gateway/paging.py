"""Lists over several Computers, page by page: a page is a page of one Computer, and a cursor says where to go on."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import orjson

from a2c_smcp.errors import MalformedRequestError, NotFoundError, NotSupportedError, SMCPError

MOST_EMPTY = 50
"""Pages without items that are passed over for one request."""

T = TypeVar("T")

Fetch = Callable[[str, str | None], Awaitable[tuple[list[T], str | None]]]
"""Fetches a page of one Computer, from its own cursor on: the items, and the cursor of the next page."""


async def page(computers: Sequence[str], cursor: str | None, fetch: Fetch[T]) -> tuple[list[T], str | None]:
    """A page, and the cursor of the next. Computers without items are passed over.

    Raises:
        MalformedRequestError: the cursor is invalid.
        SMCPError: the only Computer fails.
    """
    current, theirs = _read(cursor) if cursor is not None else ("", None)
    # By name, and not by place: a Computer may have left since the last page.
    rest = [computer for computer in sorted(computers) if computer >= current]
    empty = 0
    for number, computer in enumerate(rest):
        begin = theirs if computer == current else None
        while True:
            try:
                items, following = await fetch(computer, begin)
            except SMCPError as error:
                if isinstance(error, MalformedRequestError) and begin is not None:
                    raise MalformedRequestError("cursor: invalid; list again from the start") from None
                # A Computer that left, does not answer, or has no such lists must not hide the others.
                if len(computers) == 1 and not isinstance(error, NotFoundError | NotSupportedError):
                    raise
                break
            empty += not items
            # A page may have nothing for this profile. The bound is for a Computer whose list never ends.
            if items or empty == MOST_EMPTY:
                return items, _following(rest[number:], following)
            if following is None or following == begin:
                break
            begin = following
    return [], None


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
