"""A part's ties to the command: the plan that comes in, the reports that go out, and the end when it has gone."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import typer

from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.utils.logger import configure_logging

logger = logging.getLogger("a2c.up")

MOST_WAITING = 1_000
"""Reports that may wait to be written; a part never waits for whoever reads them, and the oldest are lost."""


def run_part(main: Callable[[Plan], None]) -> None:
    """Be a part: run with the plan, until standard input ends, which is as SIGTERM."""
    plan = Plan.from_line(sys.stdin.buffer.readline())
    threading.Thread(target=_hold, name="lifeline", daemon=True).start()
    configure_logging("warning", "json")
    try:
        main(plan)
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except Exception as error:
        logger.error("%s", error or type(error).__name__)  # the command's last words about us
        logger.debug("", exc_info=True)
        sys.exit(1)


def _hold() -> None:
    while os.read(sys.stdin.fileno(), 4_096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class Reports:
    """Lines of JSON on standard output, written by a thread of its own."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._news = threading.Event()
        threading.Thread(target=self._write, name="reports", daemon=True).start()

    def tell(self, kind: str, **data: Any) -> None:
        """Say something; returns at once."""
        self._waiting.append(json.dumps({"kind": kind, **data}).encode() + b"\n")
        self._news.set()

    def _write(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            while self._waiting:
                try:
                    os.write(1, self._waiting.popleft())
                except OSError:  # nobody listens any more: the lifeline has ended too
                    return
