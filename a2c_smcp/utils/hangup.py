"""SIGHUP, which means two things: reload, or the terminal is gone in which the program runs."""

from __future__ import annotations

import os
import signal

SIGHUP: int | None = getattr(signal, "SIGHUP", None)
"""None where there is no such signal, as on Windows."""


class Hangup:
    """Tells the two apart. It is made before the signal has a handler."""

    def __init__(self) -> None:
        self._is_ignored = SIGHUP is not None and signal.getsignal(SIGHUP) == signal.SIG_IGN  # by nohup
        self._had_terminal = _has_terminal()

    @property
    def ends_the_program(self) -> bool:
        """Whether it came because the terminal was closed, as opposed to an operator who wants a reload."""
        return self._had_terminal and not self._is_ignored and not _has_terminal()


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))
    except OSError:
        return False
    return True
