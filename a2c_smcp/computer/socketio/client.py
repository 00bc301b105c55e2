"""The connection of a Computer to a Server: the office that it offers its tools to, and the updates that it sends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from a2c_smcp.computer.socketio.requests import RequestHandlers
from a2c_smcp.errors import OfficeRefusedError, SMCPError
from a2c_smcp.protocol.credentials import auth_with, headers_with
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.smcp import (
    CLIENT_PREFIX,
    NOTIFY_PREFIX,
    SMCP_NAMESPACE,
    UPDATE_CONFIG_EVENT,
    UPDATE_DESKTOP_EVENT,
    UPDATE_FINDER_EVENT,
    UPDATE_RESOURCE_EVENT,
    UPDATE_TOOL_LIST_EVENT,
    UpdateComputerConfigReq,
    UpdateResourceReq,
)
from a2c_smcp.types import Role

if TYPE_CHECKING:
    from a2c_smcp.computer.computer import Computer


class SMCPComputerClient(RequestHandlers):
    """The connection of a Computer to a Server: a `socketio.AsyncClient`, whose options it takes.

    `max_message_bytes` is the largest answer that the Server accepts. `on_refused` is called with the error when the
    Server rejects a reconnection, and returns whether to try again; without it, the client tries again.
    """

    role: ClassVar[Role] = "computer"
    _forbidden_prefixes = (NOTIFY_PREFIX, CLIENT_PREFIX)

    def __init__(
        self,
        *args: Any,
        computer: Computer,
        max_message_bytes: int = Limits().message_bytes,
        on_refused: Callable[[SMCPError], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, computer=computer, max_message_bytes=max_message_bytes, **kwargs)
        self._on_refused = on_refused
        # The Computer holds this client weakly: it announces changes through the client, and must not keep it alive.
        computer.socketio_client = self

    # ---------------------------------------------------------------------------------------------------------- offices

    @classmethod
    @asynccontextmanager
    async def in_office(
        cls, computer: Computer, url: str, office_id: str, *, api_key: str | None = None, **options: Any
    ) -> AsyncGenerator[Self]:
        """Offer a Computer to an office for as long as the block runs. A connection that breaks is made again.

        Start the Computer first: `async with computer, SMCPComputerClient.in_office(computer, url, office_id):`

        Raises:
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            NotConnectedError: the Server cannot be reached.
            OfficeRefusedError: the Server rejects the join; the office may have a Computer of this name.
        """
        client = cls(computer=computer, **options)
        try:
            headers, auth = headers_with(api_key), auth_with(api_key)
            await client.reach(url, office_id=office_id, headers=headers, auth=auth or None)
            await client.join_office(office_id)
            yield client
        finally:
            await client.disconnect()

    async def join_office(self, office_id: str) -> None:
        """Join an office, and join it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server rejects the join, or gives no valid answer. It is a `RuntimeError`.
        """
        # Calls of the old office end only after the join succeeded: a rejected join leaves the Computer where it was.
        with self._moving() as before:
            await self._join(office_id, self.computer.name)
        if before not in (None, office_id):
            await self.computer.acancel_office(before or "")

    async def leave_office(self, office_id: str) -> None:
        """Leave the office. The Computer is out of it even if the Server answers an error.

        Raises:
            OfficeRefusedError: this Computer is in another office, or in none, and nothing has changed; or the Server
                says that we were not in. It is a `RuntimeError`.
        """
        try:
            office = self._office_to_leave(office_id)
        except SMCPError as error:
            raise OfficeRefusedError(error.message, code=error.code, is_final=True) from None
        try:
            await self._leave(office)
        finally:
            await self.computer.acancel_office(office)

    async def disconnect(self) -> None:
        """Disconnect from the Server and do not reconnect. Running calls are cancelled."""
        # Read first: disconnecting clears both. While the client reconnects, only `wanted_office` is set.
        office = self.wanted_office or self.office_id
        self._stop_recognizing()
        await super().disconnect()
        if office is not None:
            await self.computer.acancel_office(office)

    def _goes_on(self, refusal: SMCPError) -> bool:
        """Whether to reconnect again after the Server rejected this Computer: `on_refused` decides."""
        return self._on_refused is None or self._on_refused(refusal)

    def _on_rejoined(self) -> None:
        self.computer.catch_up()

    def _on_lost(self) -> None:
        """Cancel running calls."""
        self._stop_recognizing()
        # The Server has already answered their Agents with an error, and would drop the results. The office is the one
        # that this client wants: the loss of the connection has cleared the one that it was in.
        if (office := self.wanted_office) is not None:
            self.start_background_task(self.computer.acancel_office, office)

    # ---------------------------------------------------------------------------------------------------------- notices

    async def emit_update(self, event: str) -> bool:
        """Send an update of this Computer; False, and nothing is sent, while it is in no office, and if the Server does
        not relay it."""
        if self.office_id is None or not self.connected or not self._relays_update(event):
            return False
        await self.emit(event, UpdateComputerConfigReq(computer=self.computer.name), namespace=SMCP_NAMESPACE)
        return True

    async def emit_update_resource(self, uri: str, mcp_server: str) -> bool:
        """Tell the Agent that a resource changed which it watches; False, and nothing is sent, in no office, and if the
        Server does not relay it."""
        if self.office_id is None or not self.connected or not self._relays(UPDATE_RESOURCE_EVENT):
            return False
        update = UpdateResourceReq(computer=self.computer.name, uri=uri, mcp_server=mcp_server)
        await self.emit(UPDATE_RESOURCE_EVENT, update, namespace=SMCP_NAMESPACE)
        return True

    async def emit_update_config(self) -> None:
        """Notify the office that the configuration changed; in no office, do nothing."""
        await self.emit_update(UPDATE_CONFIG_EVENT)

    async def update_config(self) -> None:
        """Notify the Server that the configuration changed, also in no office."""
        update = UpdateComputerConfigReq(computer=self.computer.name)
        await self.emit(UPDATE_CONFIG_EVENT, update, namespace=SMCP_NAMESPACE)

    async def emit_update_tool_list(self) -> None:
        """Notify the office that the tools changed; in no office, do nothing."""
        await self.emit_update(UPDATE_TOOL_LIST_EVENT)

    async def emit_refresh_desktop(self) -> None:
        """Notify the office that windows changed; in no office, do nothing."""
        await self.emit_update(UPDATE_DESKTOP_EVENT)

    async def emit_refresh_finder(self) -> None:
        """Notify the office that documents changed; in no office, do nothing."""
        await self.emit_update(UPDATE_FINDER_EVENT)


__all__ = ["OfficeRefusedError", "SMCPComputerClient"]
