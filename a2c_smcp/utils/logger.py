"""The log output of commands: lines for people or JSON, on standard error. The library sets no handlers."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Literal, TextIO

from a2c_smcp.utils.text import one_line, printable

LogFormat = Literal["human", "json"]

_CONTEXT = (
    "event", "worker", "req_id", "sid", "member", "role", "office", "key", "principal", "address", "method", "computer",
    "tool", "outcome", "code", "ms", "left_out",
)  # fmt: skip
"""The fields that a record may have besides its text. A member's name is `member`, because `name` is the logger's."""
_TALKATIVE = ("mcp", "httpx2", "httpcore2")
"""Libraries that log every request and session, which only debugging needs."""
_SHOWN = ("worker", "req_id")
"""Those of them in the lines for people."""


class HumanFormatter(logging.Formatter):
    """`12:30:01 INFO    server.edge  text  req_id=…`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback if there is one."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        name = record.name.removeprefix("a2c_smcp.").removeprefix("a2c_")
        context = "".join(f"  {key}={value}" for key, value in _context(record).items() if key in _SHOWN)
        # Names and messages come from clients. A line end in one of them must not start a line that looks like ours.
        line = one_line(f"{clock} {record.levelname:<7} {name}  {record.getMessage()}{context}")
        return line + (_indented(self.formatException(record.exc_info)) if record.exc_info else "")


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with the fields of its request where they are known."""
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_context(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        # JSON escapes control characters, but not those that change the direction of text. The escapes that `printable`
        # writes are those of JSON, so a reader gets the original characters.
        return printable(json.dumps(entry, ensure_ascii=False))


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr`, which a prompt or a progress display may replace."""

    def __init__(self) -> None:
        # Not the constructor of `StreamHandler`: it sets `stream`, which is a property here.
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # pyright: ignore[reportIncompatibleVariableOverride]
        return sys.stderr


class RedactingFormatter(logging.Formatter):
    """Removes secrets from the output of another formatter, tracebacks included."""

    def __init__(self, inner: logging.Formatter, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._inner = inner
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The record without secrets."""
        return self._redact(self._inner.format(record))


def configure_logging(level: str = "info", log_format: LogFormat = "human", *, worker: int | None = None) -> None:
    """Send this process's logs to standard error. Several processes that share it are told apart by `worker`."""
    handler = _StderrHandler()
    if worker is not None:
        handler.addFilter(partial(_sign, worker))
    handler.setFormatter(JsonFormatter() if log_format == "json" else HumanFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for library in _TALKATIVE:
        logging.getLogger(library).setLevel(logging.NOTSET if level == "debug" else logging.WARNING)
    logging.captureWarnings(True)  # otherwise Python writes warnings as plain text between the lines of JSON


def _sign(worker: int, record: logging.LogRecord) -> bool:
    record.worker = worker
    return True


def _indented(traceback: str) -> str:
    """A traceback below its line, indented so that no part of it looks like another line of the log."""
    return "".join(f"\n  {line}" for line in printable(traceback).split("\n"))


def _context(record: logging.LogRecord) -> dict[str, str | int | float]:
    return {key: value for key in _CONTEXT if isinstance(value := getattr(record, key, None), str | int | float)}
