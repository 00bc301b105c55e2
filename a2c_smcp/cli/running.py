"""Run a command that needs an event loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

import typer

from a2c_smcp.cli.errors import INTERRUPTED


def run_until_done(main: Coroutine[Any, Any, int]) -> None:
    """Run it, and end the command with the exit code it gives."""
    loop_factory = None
    if sys.platform != "win32":
        import uvloop

        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        try:
            code = runner.run(main)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code:
        raise typer.Exit(code)
