"""The log messages of one MCP server: the last ones, each shortened and without secrets.

A server decides how much it sends, so everything is bounded: the number of messages, their bytes, and how many are
taken in a second. What is left out is counted, and the count is shown in its place.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, get_args

import orjson

from a2c_smcp.computer.config.model import LogLevel
from a2c_smcp.computer.config.secrets import Redact

LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)
"""From the least to the most serious."""
MOST = 200
"""Messages that are kept."""
MOST_BYTES = 64_000
"""Characters of all messages that are kept."""
WIDTH = 500
"""Characters that are kept of a message."""
A_SECOND = 50
"""Messages that are taken in a second. To search a message for secrets costs time, which a flood must not use up."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A log message of an MCP server."""

    at: datetime
    """When it arrived."""
    level: str
    """`debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`."""
    logger: str | None
    """The part of the server that wrote it, if it says so."""
    text: str
    """The message; data that is no text is written as JSON."""

    def to_json(self) -> dict[str, Any]:
        """The message as JSON data."""
        at = self.at.isoformat(timespec="seconds")
        return {"at": at, "level": self.level, "logger": self.logger, "text": self.text}


class MessageLog:
    """The last log messages of a server, across its restarts. `level` is the lowest that is kept; None keeps none."""

    def __init__(self, level: LogLevel | None, redact: Redact) -> None:
        self.level = level
        self._redact = redact
        self._kept: deque[LogMessage] = deque(maxlen=MOST)
        self._bytes = 0
        self._second = 0
        self._in_second = 0
        self._left_out = 0

    @property
    def messages(self) -> tuple[LogMessage, ...]:
        """The messages, the oldest first."""
        self._mention_left_out()
        return tuple(self._kept)

    def take(self, params: Mapping[str, Any]) -> None:
        """Take the parameters of a `notifications/message`."""
        level, name = params.get("level"), params.get("logger")
        # Servers before 2026-07-28 may ignore the level that they were asked for, or send messages unasked.
        if self.level is None or level not in LEVELS or LEVELS.index(level) < LEVELS.index(self.level):
            return
        now = int(time.monotonic())
        if now != self._second:
            self._mention_left_out()
            self._second, self._in_second = now, 0
        self._in_second += 1
        if self._in_second > A_SECOND:
            self._left_out += 1
            return
        self._keep(level, self._shown(name) if isinstance(name, str) else None, self._shown(_text_of(params)))

    def _shown(self, text: str) -> str:
        return self._redact(text, WIDTH)

    def _mention_left_out(self) -> None:
        if self._left_out:
            count, self._left_out = self._left_out, 0
            self._keep("notice", None, f"{count} more messages are left out: more than {A_SECOND} in a second")

    def _keep(self, level: str, name: str | None, text: str) -> None:
        while self._kept and (len(self._kept) == MOST or self._bytes + len(text) > MOST_BYTES):
            self._bytes -= len(self._kept.popleft().text)
        self._bytes += len(text)
        self._kept.append(LogMessage(datetime.now(UTC), level, name, text))


def _text_of(params: Mapping[str, Any]) -> str:
    data = params.get("data")
    if isinstance(data, str):
        return data
    try:
        return orjson.dumps(data).decode()
    except TypeError:  # nested too deeply, or a number that JSON does not have
        return "(data that cannot be shown)"
