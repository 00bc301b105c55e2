"""Delays SIGINT and SIGTERM until the Server inside a program has shut down.

uvicorn and other ASGI servers close every WebSocket before they tell the application that they stop, so that running
calls lose their answers. And they wait for requests that are not answered, such as the GET of a client that polls.
Shutting down before the ASGI server gets the signal avoids both.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from a2c_smcp.utils.system.signals import STOP

logger = logging.getLogger(__name__)


@asynccontextmanager
async def after(shutdown: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Within the block, SIGINT and SIGTERM do what they did before, but only after `shutdown`. A second signal cancels
    the shutdown.

    Handlers of an event loop (`loop.add_signal_handler`) are not delayed: a program that sets one calls `shutdown`
    itself. Outside the main thread nothing changes, because Python handles signals only there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    gate = _Gate(shutdown)
    gate.close()
    try:
        yield
    finally:
        gate.open()


class _Gate:
    """Holds signals back until the shutdown has ended."""

    def __init__(self, shutdown: Callable[[], Awaitable[None]]) -> None:
        self._shutdown = shutdown
        self._loop = asyncio.get_running_loop()
        self._before: dict[int, Any] = {}
        self._held: list[int] = []
        self._stopping: asyncio.Future[None] | None = None

    def close(self) -> None:
        """Take over the signals. Ignored ones, and ones whose handler was not set by Python, stay as they are."""
        for number in STOP:
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                self._before[number] = before
                signal.signal(number, self._hear)

    def open(self) -> None:
        """Give the signals back, unless other code has set its own handler meanwhile."""
        for number, before in self._before.items():
            # `==`, because each access to a bound method makes a new object.
            if signal.getsignal(number) == self._hear:
                signal.signal(number, before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        # `call_soon` would not wake a loop that waits for the network.
        self._loop.call_soon_threadsafe(self._hold, number)

    def _hold(self, number: int) -> None:
        self._held.append(number)
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._shutdown())
            self._stopping.add_done_callback(self._pass_on)
        elif self._stopping.done():
            self._pass_on(self._stopping)
        else:
            self._stopping.cancel()

    def _pass_on(self, stopping: asyncio.Future[None]) -> None:
        """Pass on the signals that were held back, in order: a handler that ends the program at the second Ctrl-C must
        get both."""
        if not stopping.cancelled() and (error := stopping.exception()) is not None:
            logger.error("the shutdown of the Server failed", exc_info=error)
        held, self._held = self._held, []
        for number in held:
            before = self._before[number]
            if callable(before):
                before(number, None)
            # SIG_DFL cannot be called. The signal is raised again, with the default action restored.
            else:
                signal.signal(number, before)
                signal.raise_signal(number)
