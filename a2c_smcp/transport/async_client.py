"""A Socket.IO client that stays in its office: it reconnects whatever ended the connection, and joins again.

What the library leaves out: a connection that the Server ended (it restarts, say) is not tried again, an attempt gets
one second, and a room is forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from typing import Any, ClassVar, cast

import socketio
from socketio.exceptions import SocketIOError

from a2c_smcp.smcp import JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT, SMCP_NAMESPACE, EnterOfficeReq, LeaveOfficeReq
from a2c_smcp.transport.packet import SMCPPacket
from a2c_smcp.types import Role

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
ASK_SECONDS = 15.0
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0

_CODE = re.compile(r"\((\d+)\)$")


class OfficeRefusedError(RuntimeError):
    """The Server did not let us in, or out."""

    def __init__(self, reason: str, *, is_refusal: bool = False) -> None:
        super().__init__(reason)
        self.is_refusal = is_refusal
        """Whether the Server said no, rather than nothing that can be understood."""
        found = _CODE.search(reason)
        self.code = int(found[1]) if found else None
        """The protocol's code for it, where the Server gave one."""


class OfficeClient(socketio.AsyncClient):
    """A member of an office, or one to be. `office_id` is None while it is in none."""

    role: ClassVar[Role]
    forbidden_prefixes: ClassVar[tuple[str, ...]] = ()
    """Events that this role may not send."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("serializer", SMCPPacket.limited_to(1 << 40))  # what the Server lets pass we read
        options.setdefault("handle_sigint", False)
        options.setdefault("websocket_extra_options", {"max_msg_size": 0})
        options.setdefault("reconnection_delay", FIRST_DELAY)
        options.setdefault("reconnection_delay_max", LONGEST_DELAY)
        options.setdefault("randomization_factor", FIRST_DELAY / 2)
        super().__init__(*args, **options)
        self.office_id: str | None = None
        self._seat: tuple[str, str] | None = None
        self._rejoining: asyncio.Task[None] | None = None
        self._moving = asyncio.Lock()
        self._leaving = False

    async def emit(self, event: str, data: Any = None, namespace: str | None = None, callback: Any = None) -> None:
        """Send an event.

        Raises:
            ValueError: this role may not send it.
        """
        if event.startswith(self.forbidden_prefixes):
            raise ValueError(f"{self.role} clients do not send {event}")
        await super().emit(event, data, namespace=namespace, callback=callback)

    async def connect(self, url: str, *args: Any, **options: Any) -> None:
        """Connect; see `socketio.AsyncClient.connect`."""
        self._leaving = False
        options.setdefault("wait_timeout", CONNECT_SECONDS)
        options.setdefault("namespaces", [SMCP_NAMESPACE])
        await super().connect(url, *args, **options)

    async def disconnect(self) -> None:
        """Disconnect, and stay disconnected."""
        self._leaving = True
        self.office_id = self._seat = None
        self._stop_rejoining()
        if self.connected:
            await super().disconnect()
        else:
            await self.shutdown()
            await self.eio.disconnect()  # an attempt that failed leaves its HTTP session open

    # ---------------------------------------------------------------------------------------------------------- offices

    @property
    def wanted_office(self) -> str | None:
        """The office this client is in, or means to be in again as soon as it can."""
        return self._seat[0] if self._seat is not None else None

    async def _join(self, office_id: str, name: str) -> None:
        """Take a seat, and take it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server refuses, or gives no valid answer.
        """
        async with self._moving:
            await self._enter(office_id, name)
            self._seat = office_id, name

    async def _leave(self, office_id: str) -> None:
        """Leave; whatever the Server says, we are out."""
        self._stop_rejoining()
        async with self._moving:
            self._seat = None
            try:
                request = LeaveOfficeReq(office_id=office_id)
                _check_two_values(await self.call(LEAVE_OFFICE_EVENT, request, SMCP_NAMESPACE, ASK_SECONDS))
            except SocketIOError as error:
                raise OfficeRefusedError(f"no answer from the Server: {str(error) or type(error).__name__}") from error
            finally:
                self.office_id = None

    async def _enter(self, office_id: str, name: str) -> None:
        before, self.office_id = self.office_id, office_id  # before the call: traffic may come before its answer
        entered = False
        try:
            request = EnterOfficeReq(role=self.role, name=name, office_id=office_id)
            ack = await self.call(JOIN_OFFICE_EVENT, request, SMCP_NAMESPACE, ASK_SECONDS)
            _check_two_values(ack)
            entered = True
        except OfficeRefusedError as error:
            self.office_id = before if error.is_refusal else None  # refused: we are still where we were
            raise
        except SocketIOError as error:
            raise OfficeRefusedError(f"no answer from the Server: {str(error) or type(error).__name__}") from error
        finally:
            if not entered and self.office_id == office_id:
                self.office_id = None

    async def _rejoin(self) -> None:
        """Take the seat again; the Server may still hold it for the connection that broke."""
        delay = FIRST_DELAY
        while self._seat is not None:
            office_id, name = self._seat
            try:
                async with self._moving:
                    await self._enter(office_id, name)
            except OfficeRefusedError as error:
                logger.warning("cannot rejoin office %s yet: %s", office_id, error)
                await asyncio.sleep(delay * random.uniform(0.75, 1.25))
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                logger.info("back in office %s as %s", office_id, name)
                await self._on_rejoined()
                return

    def _stop_rejoining(self) -> None:
        if self._rejoining is not None:
            self._rejoining.cancel()
            self._rejoining = None

    async def _on_rejoined(self) -> None:
        """For subclasses: what to do once back."""

    # The library's own hooks rather than its events: a program may have handlers of its own for those.

    async def _handle_connect(self, namespace: str | None, data: Any) -> None:
        await super()._handle_connect(namespace, data)
        if self._seat is not None:
            self._stop_rejoining()  # the question it waits for went down with the old connection
            self._rejoining = asyncio.create_task(self._rejoin(), name="rejoin")

    async def _handle_eio_disconnect(self, reason: Any) -> None:
        self._lose_office()
        await super()._handle_eio_disconnect(reason)

    async def _handle_disconnect(self, namespace: str | None) -> None:
        self._lose_office()
        await super()._handle_disconnect(namespace)
        if self.reconnection and not self._leaving and not self.connected and not self._reconnect_task:
            self._reconnect_task = self.start_background_task(self._handle_reconnect)

    def _lose_office(self) -> None:
        self._stop_rejoining()
        if self.office_id is not None:
            self.office_id = None
            logger.warning("the connection to the Server is lost; trying to come back")


def _check_two_values(ack: Any) -> None:
    """Read `true, null` or `false, reason`, as two arguments or as one array of two.

    Raises:
        OfficeRefusedError: it says no, or nothing that can be understood.
    """
    values = tuple(cast("list[Any]", ack)) if isinstance(ack, list | tuple) else (ack,)
    if values and values[0] is True:
        return
    if len(values) > 1 and values[0] is False:
        raise OfficeRefusedError(str(values[1] or "refused"), is_refusal=True)
    raise OfficeRefusedError("the Server gave no valid answer")
