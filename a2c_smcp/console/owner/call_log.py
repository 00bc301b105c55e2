"""The last calls of a Computer, bounded by their number and by their size."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from a2c_smcp.computer.offer.running import Call
from a2c_smcp.console.owner.shapes import CallView
from a2c_smcp.utils.listeners import Listeners
from a2c_smcp.utils.text import printable

MOST_CALLS = 1_000
MOST_CHARACTERS = 4_000_000
MOST_ARGUMENTS = 8_000
"""Characters of a call's arguments, as JSON, that are kept."""
MOST_ERROR = 2_000


class CallLog:
    """The log. It keeps text, so that a large call does not stay in memory."""

    def __init__(self, most_calls: int = MOST_CALLS, most_characters: int = MOST_CHARACTERS) -> None:
        self._calls: deque[CallView] = deque()
        self._most_calls, self._most_characters = most_calls, most_characters
        self._numbers = itertools.count(1)
        self.characters = 0
        self.added: Listeners[CallView] = Listeners()

    def add(self, call: Call) -> None:
        """Keep a call that has just ended."""
        caller = call.caller
        view = CallView(
            number=next(self._numbers),
            started=call.started.isoformat(timespec="milliseconds"),
            seconds=round((datetime.now(UTC) - call.started).total_seconds(), 4),
            req_id=call.turn.req_id,
            server=call.server,
            tool=call.tool,
            office=caller.office_id,
            agent=caller.agent,
            principal=caller.principal,
            arguments=_cut(_json(call.parameters), MOST_ARGUMENTS),
            timeout=call.timeout,
            is_ok=call.error is None,
            code=call.code,
            error=_cut(call.error, MOST_ERROR) if call.error is not None else None,
            cancelled=call.cancel_reason,
            approved_by=call.approved_by,
        )
        self._calls.append(view)
        self.characters += _size(view)
        while len(self._calls) > self._most_calls or self.characters > self._most_characters:
            self.characters -= _size(self._calls.popleft())
        self.added(view)

    def last(self, most: int = MOST_CALLS, before: int | None = None) -> Iterator[CallView]:
        """The last calls, the newest first; with `before`, those with smaller numbers."""
        found = (call for call in reversed(self._calls) if before is None or call["number"] < before)
        return itertools.islice(found, most)

    def __len__(self) -> int:
        return len(self._calls)


def _json(data: dict[str, Any]) -> str:
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # nested too deeply, or a number that JSON does not have
        return printable(repr(data)[:MOST_ARGUMENTS])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


def _size(view: CallView) -> int:
    return len(view["arguments"]) + len(view["error"] or "") + len(view["req_id"]) + len(view["principal"] or "") + 300
