"""Signals: which of them stop or reload a program or announce a new terminal size, and how an event loop gets them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import FrameType

from a2c_smcp.utils.system.terminals import has_terminal

if sys.platform == "win32":
    # Ctrl-Break, which one program can send to another, and the closing of the console window both arrive as SIGBREAK.
    # After the latter the system ends the process as soon as the handler returns.
    STOP: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    HANGUP: int | None = None
    RESIZED: int | None = None

    def stop_this_process() -> None:
        """Run the handler of SIGTERM, from any thread."""
        signal.raise_signal(signal.SIGTERM)  # `os.kill` is TerminateProcess here, which runs no handler

else:
    STOP: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)
    HANGUP: int | None = signal.SIGHUP
    RESIZED: int | None = signal.SIGWINCH

    def stop_this_process() -> None:
        """Run the handler of SIGTERM, from any thread."""
        os.kill(os.getpid(), signal.SIGTERM)  # `raise_signal` would not interrupt a blocking call of the main thread


@contextmanager
def on_signals(numbers: Iterable[int | None], callback: Callable[[], object]) -> Generator[None]:
    """Within the block, call `callback` on the running event loop each time one of these signals arrives.

    None stands for a signal that this system does not have.
    """
    # `signal.signal` and not `loop.add_signal_handler`, which Windows' loops do not have. Its handlers run in the main
    # thread between two bytecodes, and `call_soon_threadsafe` writes to the pipe that wakes the loop up.
    loop = asyncio.get_running_loop()

    def forward(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(callback)

    # A signal that is ignored stays ignored: nohup starts a program with SIGHUP ignored.
    known = [number for number in numbers if number is not None and signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, forward) for number in known}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class Hangup:
    """Distinguishes the two meanings of SIGHUP: reload, or the terminal has closed.

    Create it before the signal has a handler.
    """

    def __init__(self) -> None:
        self._is_ignored = HANGUP is not None and signal.getsignal(HANGUP) == signal.SIG_IGN  # by nohup
        self._had_terminal = has_terminal()

    @property
    def ends_the_program(self) -> bool:
        """Whether the signal came because the terminal closed, and not because an operator requests a reload."""
        return self._had_terminal and not self._is_ignored and not has_terminal()
