"""Commands that need an event loop: how they run, and how a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any

import typer

from a2c_smcp.cli.errors import HUNG_UP, INTERRUPTED, Interrupted
from a2c_smcp.utils.hangup import SIGHUP, Hangup


def run_until_done(main: Coroutine[Any, Any, int]) -> None:
    """Run it, and end the command with the exit code it gives, or with that of Ctrl-C."""
    loop_factory = None
    if sys.platform != "win32":
        import uvloop

        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        try:
            code = runner.run(main)
        except (KeyboardInterrupt, Interrupted):
            code = INTERRUPTED
        except asyncio.CancelledError:
            code = HUNG_UP
    if code:
        raise typer.Exit(code)


@contextlib.contextmanager
def on_hangup(reload: Callable[[], None], stop: Callable[[], object]) -> Generator[None]:
    """Have SIGHUP call `reload`, on the event loop, each time; or `stop` when it comes from a terminal that closes."""
    if SIGHUP is None:
        yield
        return
    loop, hangup = asyncio.get_running_loop(), Hangup()
    loop.add_signal_handler(SIGHUP, lambda: stop() if hangup.ends_the_program else reload())
    try:
        yield
    finally:
        loop.remove_signal_handler(SIGHUP)


@contextlib.contextmanager
def on_stop_signal(
    stop: Callable[[], None], *, names: Sequence[str] = ("SIGINT", "SIGTERM", "SIGHUP")
) -> Generator[None]:
    """Have Ctrl-C, SIGTERM and a closed terminal call `stop`, on the event loop, each time."""
    loop = asyncio.get_running_loop()
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    numbers = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]  # nohup means it
    if sys.platform == "win32":
        previous = {number: signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop)) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        return
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
