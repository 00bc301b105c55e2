"""A part's ties to the command: the plan that comes in, the reports that go out, and the end when it has gone."""

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
"""Bytes that may wait to be written; a part never waits for whoever reads them, and what comes then is lost."""
LAST_WORDS_SECONDS = 1.0

logger = logging.getLogger("a2c.up")


def run_child(main: Callable[[Plan, Reports], None]) -> None:
    """Be a part: run with the plan, until standard input ends, which is as SIGTERM."""
    collect_less_often()
    plan = Plan.from_line(sys.stdin.buffer.readline())
    close_inherited(plan.listener)  # MCP servers would inherit it too, and could speak in our name
    threading.Thread(target=_hold, name="lifeline", daemon=True).start()
    output, errors = Writer(1), Writer(2)
    sys.stderr = _Lines(errors)
    configure_logging("warning", "json")
    try:
        main(plan, Reports(output))
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except Exception as error:
        cause = _cause_of(error)
        logger.error("%s", str(cause) or type(cause).__name__)  # the command's last words about us
        sys.exit(1)
    finally:
        output.drain(LAST_WORDS_SECONDS)
        errors.drain(LAST_WORDS_SECONDS)


def _cause_of(error: BaseException) -> BaseException:
    """What went wrong first, of all that a task group gathered."""
    gathered = cast("tuple[BaseException, ...]", getattr(error, "exceptions", ()))
    return _cause_of(gathered[0]) if gathered else error


def _hold() -> None:
    while os.read(sys.stdin.fileno(), 4_096):
        pass
    stop_this_process()


class Writer:
    """Writes to a file descriptor from a thread of its own: whoever has something to say never waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = threading.Condition()
        threading.Thread(target=self._write, name=f"writer {descriptor}", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Have it written, if there is room; returns at once."""
        with self._news:
            if self._size + len(data) <= MOST_WAITING:
                self._waiting.append(data)
                self._size += len(data)
                self._news.notify_all()

    def drain(self, seconds: float) -> None:
        """Wait until everything is written, at most so long."""
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
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:  # nobody listens any more: the lifeline has ended too
                return
            finally:
                with self._news:
                    self._size -= len(data)
                    self._news.notify_all()


class _Lines(io.TextIOBase):
    """Standard error that nobody waits for."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def write(self, text: str) -> int:
        self._writer.write(text.encode("utf-8", "replace"))
        return len(text)


class Reports:
    """What a part has to tell: lines of JSON."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def tell(self, kind: str, **data: Any) -> None:
        """Say something; returns at once."""
        self._writer.write(json.dumps({"kind": kind, **data}).encode() + b"\n")
