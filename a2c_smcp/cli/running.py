"""Commands that need an event loop: how they run, and how a signal ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any

import typer

from a2c_smcp.cli.errors import HUNG_UP, INTERRUPTED, Interrupted
from a2c_smcp.utils.system.loops import new_event_loop
from a2c_smcp.utils.system.signals import HANGUP, STOP, Hangup, on_signals


def run_until_done(main: Coroutine[Any, Any, int]) -> None:
    """Run it, and end the command with the exit code it gives, or with that of Ctrl-C."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            code = runner.run(main)
        except (KeyboardInterrupt, Interrupted):
            code = INTERRUPTED
        except asyncio.CancelledError:
            code = HUNG_UP
    if code:
        raise typer.Exit(code)


def on_hangup(reload: Callable[[], None], stop: Callable[[], object]) -> AbstractContextManager[None]:
    """Have SIGHUP call `reload`, on the event loop, each time; or `stop` when it comes from a terminal that closes."""
    hangup = Hangup()
    return on_signals([HANGUP], lambda: stop() if hangup.ends_the_program else reload())


def on_stop_signal(stop: Callable[[], None], *, with_hangup: bool = True) -> AbstractContextManager[None]:
    """Have Ctrl-C, SIGTERM and, unless it means something else, a closed terminal call `stop` on the event loop."""
    return on_signals([*STOP, HANGUP] if with_hangup else STOP, stop)
