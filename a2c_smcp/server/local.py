"""Members of an office that are a part of this process: they need no socket, and what they send is not written and read
again. The gateway for MCP hosts is one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from a2c_smcp.errors import InternalError, NotConnectedError, NotFoundError
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.server_effects import Written
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.payload_text import read_ack
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.sending import Recipient

logger = logging.getLogger(__name__)


class LocalMember(Recipient):
    """A connection of this process to its own Server. It lives on the Server's event loop.

    Raises:
        InternalError: the Server is shutting down, or has no connection to its cluster.
    """

    def __init__(
        self, hub: AsyncHub, grant: Grant, on_event: Callable[[str, Any], None], on_closed: Callable[[], None]
    ) -> None:
        self._hub = hub
        self._on_event = on_event
        self._on_closed = on_closed
        self._waiting: set[Reply] = set()
        self.sid = hub.new_sid()
        self._is_open = True
        hub.namespace.admit(self.sid, grant)
        hub.rooms.add(self.sid, self)

    # ---------------------------------------------------------------------------------------------------------- sending

    def request(self, event: str, data: Any) -> Reply:
        """Send an event; the reply is settled with its ack."""
        reply = Reply()
        if not self._is_open:
            reply.set_exception(NotConnectedError())
            return reply
        self._waiting.add(reply)
        flow = self._hub.namespace.dispatch(event, self.sid, () if data is None else (data,))
        self._hub.start(flow, partial(self._answered, event, reply))
        return reply

    def _answered(self, event: str, reply: Reply, ack: Any, error: BaseException | None) -> None:
        self._waiting.discard(reply)
        if error is not None:
            logger.error("%s from %s failed", event, self.sid, exc_info=error)
            ack = HOME.refused(event, InternalError())
        reply.set_result(read_ack(ack) if isinstance(ack, Written) else ack)

    def close(self) -> None:
        """Leave the Server."""
        self._end("client disconnect")

    # -------------------------------------------------------------------------------------------------------- receiving

    def tell(self, sid: str, packet: str, text: str) -> None:
        """An event for this member."""
        event, *data = orjson.loads(text)
        try:
            self._on_event(event, data)
        except Exception:  # the others in the room must get the event all the same
            logger.exception("a local member failed at %s", event)

    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        """Reject a request: only Computers answer some."""
        reply.set_exception(NotFoundError("this member answers no requests"))

    def forget(self, number: int) -> None:
        """Do nothing: no request was sent."""

    def show_out(self, sid: str) -> None:
        """End the membership: the Server stops, or may not serve."""
        if self._end("server disconnect"):
            self._on_closed()

    def _end(self, reason: str) -> bool:
        if not self._is_open:
            return False
        self._is_open = False
        self._hub.rooms.remove(self.sid)
        self._hub.start(self._hub.namespace.leaving(self.sid, reason), _log_failure)
        for reply in list(self._waiting):
            reply.set_exception(NotConnectedError("the connection to the Server broke before the answer came"))
        return True


def _log_failure(_: Any, error: BaseException | None) -> None:
    if error is not None:
        logger.error("a local member could not leave", exc_info=error)
