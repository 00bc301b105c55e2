"""Runs commands on an event loop, and maps signals to stop and reload."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import typer

from a2c_smcp.cli.errors import HUNG_UP, INTERRUPTED, Interrupted
from a2c_smcp.utils.system.loops import new_event_loop
from a2c_smcp.utils.system.resources import keep_freed_memory
from a2c_smcp.utils.system.signals import HANGUP, STOP, Hangup, on_signals


def run_until_done(main: Coroutine[Any, Any, int]) -> None:
    """Run a command, and end the process with its exit code, or with that of the signal that stopped it."""
    keep_freed_memory()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            code = runner.run(main)
        except (KeyboardInterrupt, Interrupted):
            code = INTERRUPTED
        except asyncio.CancelledError:  # only `on_hangup` of a prompt cancels the main task
            code = HUNG_UP
    if code:
        raise typer.Exit(code)


def on_hangup(reload: Callable[[], None], stop: Callable[[], object]) -> AbstractContextManager[None]:
    """Call `reload` on the event loop for each SIGHUP, or `stop` if the signal means that the terminal has closed."""
    hangup = Hangup()
    return on_signals([HANGUP], lambda: stop() if hangup.ends_the_program else reload())


def on_stop_signal(stop: Callable[[], None], *, with_hangup: bool = True) -> AbstractContextManager[None]:
    """Call `stop` on the event loop for Ctrl-C and SIGTERM, and for SIGHUP unless it has another meaning."""
    return on_signals([*STOP, HANGUP] if with_hangup else STOP, stop)
