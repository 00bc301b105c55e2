"""A child's side of the pipes to the supervisor: it reads the plan and news, sends reports, and stops when the pipe
closes."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import typer

from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.utils.garbage import collect_less_often
from a2c_smcp.utils.logger import configure_logging
from a2c_smcp.utils.system.signals import stop_this_process
from a2c_smcp.utils.system.sockets import close_inherited

MOST_WAITING = 1_000_000
"""Bytes that may wait to be written. Beyond that, data is dropped: a child must not block on a slow reader."""
LAST_WORDS_SECONDS = 1.0
"""Seconds at the end for output that is still waiting."""

logger = logging.getLogger("a2c.up")


def run_child(main: Callable[[Plan, Reports], None]) -> None:
    """Run `main` with the plan. The end of standard input has the effect of SIGTERM."""
    collect_less_often()
    plan = Plan.from_line(sys.stdin.buffer.readline())
    # The listener came with the start, and so did any other descriptor that the supervisor's own parent left open. MCP
    # servers would inherit them in turn, and one with the listener could answer in the name of the Server.
    close_inherited(plan.listener)
    output, errors = Writer(1), Writer(2)
    reports = Reports(output)
    threading.Thread(target=_hold, args=(reports,), name="lifeline", daemon=True).start()
    # The supervisor may be busy drawing, or stopped with Ctrl-Z. A log line that blocks on a full pipe would then stop
    # the event loop, and with it the whole office.
    sys.stderr = _Lines(errors)
    configure_logging("warning", "json")
    try:
        main(plan, reports)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except Exception as error:
        cause = _cause_of(error)
        logger.error("%s", str(cause) or type(cause).__name__)  # the supervisor shows it as the reason
        sys.exit(1)
    finally:
        output.drain(LAST_WORDS_SECONDS)
        errors.drain(LAST_WORDS_SECONDS)


def _cause_of(error: BaseException) -> BaseException:
    """The first error inside an exception group, or the error itself."""
    gathered = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
    return _cause_of(gathered[0]) if gathered else error


def _hold(reports: Reports) -> None:
    # `os.read`, because a thread that is blocked in a read of `sys.stdin` holds the lock of that stream. At exit, the
    # interpreter needs the lock and aborts without it.
    begun = b""
    while data := os.read(sys.stdin.fileno(), 4_096):
        *lines, begun = (begun + data).split(b"\n")
        for line in lines:
            try:
                reports.take_news(json.loads(line))
            except (ValueError, TypeError) as error:  # this thread must go on: it is the lifeline
                logger.warning("invalid news of the supervisor: %s", error)
    stop_this_process()


class Writer:
    """Writes to a file descriptor in a thread, so that callers never block."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = threading.Condition()
        threading.Thread(target=self._write, name=f"writer {descriptor}", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Queue data for writing, or drop it if the queue is full. Returns at once."""
        with self._news:
            if self._size + len(data) <= MOST_WAITING:
                self._waiting.append(data)
                self._size += len(data)
                self._news.notify_all()

    def drain(self, seconds: float) -> None:
        """Wait until everything is written, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        with self._news:
            self._news.wait_for(lambda: not self._size, max(deadline - time.monotonic(), 0))

    def _write(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting)
                data = self._waiting.popleft()
            try:
                rest = memoryview(data)
                while rest:  # a pipe may take only a part
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:  # the reader is gone, and the lifeline stops this process
                return
            finally:
                # Counted down only after the write, or `drain` would return while the last line is on its way.
                with self._news:
                    self._size -= len(data)
                    self._news.notify_all()


class _Lines(io.TextIOBase):
    """A standard error that never blocks."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def write(self, text: str) -> int:
        self._writer.write(text.encode("utf-8", "replace"))
        return len(text)


class Reports:
    """Sends reports to the supervisor, as lines of JSON, and has what the supervisor tells about the other process."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.news: dict[str, Any] = {}
        self.on_news: Callable[[dict[str, Any]], None] = lambda _: None
        """Called in another thread with what is new."""

    def take_news(self, news: dict[str, Any]) -> None:
        """The supervisor tells something."""
        self.news = {**self.news, **news}
        self.on_news(news)

    def tell(self, kind: str, **data: Any) -> None:
        """Send a report. Returns at once."""
        self._writer.write(json.dumps({"kind": kind, **data}).encode() + b"\n")
