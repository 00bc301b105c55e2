"""Lists over several Computers, page by page: a page is a page of one Computer, and a cursor says where to go on."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import orjson

from a2c_smcp.errors import MalformedRequestError, NotFoundError, SMCPError

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
    for number, computer in enumerate(rest):
        try:
            items, following = await fetch(computer, theirs if computer == current else None)
        except SMCPError as error:
            # A Computer that left, or does not answer, must not hide the others.
            if len(computers) == 1 and not isinstance(error, NotFoundError):
                raise
            continue
        if following is not None:
            return items, _write(computer, following)
        if items:
            return items, _write(rest[number + 1], None) if number + 1 < len(rest) else None
    return [], None


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
