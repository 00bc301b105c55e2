"""A connection that reconnects, for asyncio.

The library reconnects after a network failure, but not when the Server closes the connection, as it does when it
restarts; and each of its attempts may take one second only. This connection reconnects after every loss until the
program disconnects, with the delays of `a2c_smcp.protocol.seat.come_back`.

All state belongs to one event loop. Between two awaits no other task runs, so none of it needs a lock; compare
`sync_connection`.
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
    """A `socketio.AsyncClient` that reconnects.

    `max_message_bytes` is the size of the largest message that the Server accepts. `ca_file` (PEM) holds the
    certificate authorities to trust, instead of those of the machine. `dialect` says what the Server is: `auto` finds
    out, `s` is a Server of this project, `0.1` to `0.4` an official one of this version.

    Raises:
        OSError, ValueError: `ca_file` cannot be read, or has no certificates.
        ValueError: there is no such `dialect`.
    """

    def __init__(
        self,
        *args: Any,
        max_message_bytes: int = Limits().message_bytes,
        ca_file: str | Path | None = None,
        dialect: str = "auto",
        **options: Any,
    ) -> None:
        options.setdefault("websocket_extra_options", {"max_msg_size": 0})  # aiohttp limits messages to 4 MiB
        super().__init__(*args, **with_defaults(options, max_message_bytes))
        if ca_file is not None:
            self.ca_file = str(ca_file)
            self.eio.trust = trusting(ca_file)
        self._initialize(max_message_bytes, dialect)
        self._reconnecting: asyncio.Task[None] | None = None
        self._rejoining: asyncio.Task[None] | None = None

    async def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.AsyncClient.connect`."""
        # The task that reconnects calls this method, too. Only a call of the program renews the wish to be connected.
        if asyncio.current_task() is not self._reconnecting:
            await self._stop_reconnecting()
            self._leaving = False
        if "aiohttp" not in sys.modules:  # the import takes a tenth of a second, in which the event loop must not stop
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

    def _reconnect_or_give_up(self) -> None:
        # An attempt that fails ends here as well. It was not established, and `connect` or `come_back` reports it.
        was_established, self._is_established = self._is_established, False
        if was_established and not (self.reconnection and not self._leaving):
            self._on_given_up()
        elif was_established and self._reconnecting is None:
            self._reconnecting = asyncio.create_task(self._reconnect(), name="reconnect")

    async def _reconnect(self) -> None:
        delays = self.reconnection_delay, self.reconnection_delay_max, self.randomization_factor
        is_back = await self._run(come_back(*delays, self.reconnection_attempts))
        # After the last await of a successful attempt no other task runs until this line, so no loss comes in between
        # and finds a task that is about to end.
        self._reconnecting = None
        if not is_back:
            self._on_given_up()

    async def _stop_reconnecting(self) -> None:
        reconnecting, self._reconnecting = self._reconnecting, None
        # The reconnecting task itself gets here when a program's `connect_error` handler disconnects.
        if reconnecting is not None and reconnecting is not asyncio.current_task():
            reconnecting.cancel()
            await asyncio.gather(reconnecting, return_exceptions=True)

    async def _rest(self, seconds: float) -> bool:
        """Wait before the next attempt; False if the program has disconnected."""
        await asyncio.sleep(seconds)
        return not self._leaving

    async def _redial(self) -> bool:
        """Connect with the arguments of the last `connect`; return whether the connection is still open."""
        try:
            await self._dial_again()
        except SocketIOConnectionError:
            if (refusal := self._why_refused()) is not None:
                raise refusal from None
            raise
        return self.connected

    async def _pause(self, seconds: float) -> None:
        """Wait. `_stop_rejoining` cancels the waiting task when the connection ends."""
        await asyncio.sleep(seconds)

    def _start_rejoining(self) -> None:
        self._stop_rejoining()  # it may wait for an answer that the old connection did not bring
        self._rejoining = asyncio.create_task(self._rejoin(), name="rejoin")

    def _stop_rejoining(self) -> None:
        if self._rejoining is not None:
            self._rejoining.cancel()
            self._rejoining = None

    async def _rejoin(self) -> None:
        """Take the seat again; the subclass knows how."""

    # ------------------------------------------------------------------------------------------------- incoming packets

    async def _handle_event(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        # Ours first: when a program's handler hears of a change, the client already knows it.
        if namespace == self.namespace:
            self._on_event(data[0], data[1:])
        await super()._handle_event(namespace, id, data)

    async def _handle_ack(self, namespace: str | None, id: int | None, data: list[Any]) -> None:
        # An ack runs in the task that reads the socket (see `fast_path`), so a callback of the program, which may wait
        # for another ack, gets a task of its own. Id 0 is no ack: the library keeps its counter under that key.
        if id and not (namespace == self.namespace and self._on_ack(id, data)):
            self.start_background_task(super()._handle_ack, namespace, id, data)

    async def _read_result(self, answer: dict[str, Any]) -> CallToolResult:
        """Read a tool's result. The first one imports the types of MCP, which takes long: that runs in a thread."""
        # Not `sys.modules`: it lists a module as soon as its import begins. Results that arrive meanwhile would use a
        # module that is half executed; with `_loaded` they wait for the import, each in a thread.
        if _RESULTS not in _loaded:
            _loaded[_RESULTS] = await asyncio.to_thread(importlib.import_module, _RESULTS)
        return _loaded[_RESULTS].read_result(answer)
