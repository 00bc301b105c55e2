"""The last calls of a Computer, bounded by their number and by their size."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.running import Call
from a2c_smcp.console.owner.shapes import CallView
from a2c_smcp.utils.listeners import Listeners
from a2c_smcp.utils.text import printable

MOST_CALLS = 1_000
MOST_CHARACTERS = 4_000_000
MOST_ARGUMENTS = 8_000
"""Characters of a call's arguments, as JSON, that are kept."""
MOST_ERROR = 2_000


class _Kept(NamedTuple):
    """A call. What a reader gets is made when it is read, which happens to few calls."""

    number: int
    started: datetime
    ended: datetime
    req_id: str
    server: str
    tool: str
    caller: Caller
    arguments: str
    timeout: float | None
    code: int | None
    error: str | None
    cancelled: str | None
    approved_by: str | None

    @property
    def size(self) -> int:
        """About how many characters it keeps."""
        return len(self.arguments) + len(self.error or "") + len(self.req_id) + len(self.caller.principal or "") + 300

    def view(self) -> CallView:
        """The call in the shape of the API."""
        return CallView(
            number=self.number,
            started=self.started.isoformat(timespec="milliseconds"),
            seconds=round((self.ended - self.started).total_seconds(), 4),
            req_id=self.req_id,
            server=self.server,
            tool=self.tool,
            office=self.caller.office_id,
            agent=self.caller.agent,
            principal=self.caller.principal,
            arguments=self.arguments,
            timeout=self.timeout,
            is_ok=self.error is None,
            code=self.code,
            error=self.error,
            cancelled=self.cancelled,
            approved_by=self.approved_by,
        )


class CallLog:
    """The log. It keeps text, so that a large call does not stay in memory."""

    def __init__(self, most_calls: int = MOST_CALLS, most_characters: int = MOST_CHARACTERS) -> None:
        self._calls: deque[_Kept] = deque()
        self._most_calls, self._most_characters = most_calls, most_characters
        self._numbers = itertools.count(1)
        self.characters = 0
        self.added: Listeners[Callable[[], CallView]] = Listeners()
        """Hears of each call, as a function that returns it."""

    def add(self, call: Call) -> None:
        """Keep a call that has just ended."""
        error = _cut(call.error, MOST_ERROR) if call.error is not None else None
        kept = _Kept(
            next(self._numbers), call.started, datetime.now(UTC), call.turn.req_id, call.server, call.tool, call.caller,
            _cut(_json(call.parameters), MOST_ARGUMENTS), call.timeout, call.code, error, call.cancel_reason,
            call.approved_by,
        )  # fmt: skip
        self._calls.append(kept)
        self.characters += kept.size
        while len(self._calls) > self._most_calls or self.characters > self._most_characters:
            self.characters -= self._calls.popleft().size
        if self.added:
            self.added(kept.view)

    def last(self, most: int = MOST_CALLS, before: int | None = None) -> Iterator[CallView]:
        """The last calls, the newest first; with `before`, those with smaller numbers."""
        found = (call for call in reversed(self._calls) if before is None or call.number < before)
        return (call.view() for call in itertools.islice(found, most))

    def __len__(self) -> int:
        return len(self._calls)


def _json(data: dict[str, Any]) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # nested too deeply, or a number that JSON does not have
        return printable(repr(data)[:MOST_ARGUMENTS])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"
