"""A connection that comes back, on an event loop: whatever ended it, it is made again, in a task.

What the library leaves out: a connection that the Server ended (it restarts, say) is not tried again, and an attempt
gets one second.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from socketio.exceptions import ConnectionError as SocketIOConnectionError

from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.seat import come_back
from a2c_smcp.transport.async_internals import AsyncInternals
from a2c_smcp.transport.base import CONNECT_SECONDS, with_defaults
from a2c_smcp.utils.trust import trusting

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

_RESULTS = "a2c_smcp.utils.results"
_loaded: dict[str, Any] = {}


class AsyncConnection(AsyncInternals):
    """A `socketio.AsyncClient` that comes back; it belongs to one event loop.

    `max_message_bytes` is the most that the Server takes. `ca_file` (PEM) has the authorities to trust for the Server's
    certificate, instead of the machine's.

    Raises:
        OSError, ValueError: `ca_file` cannot be read, or has no certificates.
    """

    def __init__(
        self,
        *args: Any,
        max_message_bytes: int = Limits().message_bytes,
        ca_file: str | Path | None = None,
        **options: Any,
    ) -> None:
        options.setdefault("websocket_extra_options", {"max_msg_size": 0})
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        if ca_file is not None:
            self.ca_file = str(ca_file)
            self.eio.trust = trusting(ca_file)
        self._begin_outside()
        self._coming_back: asyncio.Task[None] | None = None
        self._rejoining: asyncio.Task[None] | None = None

    async def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.AsyncClient.connect`."""
        if asyncio.current_task() is not self._coming_back:
            await self._stop_coming_back()
            self._leaving = False
        if "aiohttp" not in sys.modules:  # it takes a tenth of a second
            await asyncio.to_thread(importlib.import_module, "aiohttp")
        options.setdefault("namespaces", [self.namespace])
        seconds = options.pop("wait_timeout", CONNECT_SECONDS)
        await self._dial(url, *args, seconds=seconds if options.pop("wait", True) else None, **options)
        self._is_established = True

    async def _wait_for_admission(self, namespaces: set[str], is_over: asyncio.Event, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not is_over.is_set() and not self._has_answer(namespaces):
                    self._connect_event.clear()
                    await self._connect_event.wait()

    # ------------------------------------------------------------------------------------------------------ coming back

    def _mend(self) -> None:
        was_established, self._is_established = self._is_established, False
        if was_established and not (self.reconnection and not self._leaving):
            self._on_given_up()
        elif was_established and self._coming_back is None:
            self._coming_back = asyncio.create_task(self._come_back(), name="come back")

    async def _come_back(self) -> None:
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = await self._run(come_back(*delays, self.reconnection_attempts))
        self._coming_back = None
        if not is_back:
            self._on_given_up()

    async def _stop_coming_back(self) -> None:
        coming_back, self._coming_back = self._coming_back, None
        if coming_back is not None and coming_back is not asyncio.current_task():
            coming_back.cancel()
            await asyncio.gather(coming_back, return_exceptions=True)

    async def _rest(self, seconds: float) -> bool:
        """Wait without a connection; False when none is wanted any more."""
        await asyncio.sleep(seconds)
        return not self._leaving

    async def _redial(self) -> bool:
        """Connect as before; whether the connection still lives."""
        try:
            await self._dial_again()
        except SocketIOConnectionError:
            if (refusal := self._why_refused()) is not None:
                raise refusal from None
            raise
        return self.connected

    async def _pause(self, seconds: float) -> None:
        """Wait; who waits is cancelled when the connection ends."""
        await asyncio.sleep(seconds)

    def _start_rejoining(self) -> None:
        self._stop_rejoining()  # the question it waits for went down with the old connection
        self._rejoining = asyncio.create_task(self._rejoin(), name="rejoin")

    def _stop_rejoining(self) -> None:
        if self._rejoining is not None:
            self._rejoining.cancel()
            self._rejoining = None

    async def _rejoin(self) -> None:
        """For the subclass: take the seat again."""

    # ------------------------------------------------------------------------------------------------------ dispatching

    async def _handle_event(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        if namespace == self.namespace:
            self._on_event(data[0], data[1:])
        await super()._handle_event(namespace, id, data)

    async def _handle_ack(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        if id and not (namespace == self.namespace and self._on_ack(id, data)):  # the library takes 0 for its counter
            self.start_background_task(super()._handle_ack, namespace, id, data)  # a program's own callback

    async def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result; the first one imports MCP's types, in a thread because that takes long."""
        if _RESULTS not in _loaded:
            _loaded[_RESULTS] = await asyncio.to_thread(importlib.import_module, _RESULTS)
        return _loaded[_RESULTS].read_result(answer)
