"""The effects of the edge's flows, beyond those of the protocol: they involve the host program or a connection, rather
than an office."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from a2c_smcp.protocol.flow import Effect, MaybeAwaitable
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.server_effects import ServerBackend
from a2c_smcp.server.auth import Headers
from a2c_smcp.server.connections import Connection
from a2c_smcp.server.reply import Reply


class EdgeBackend(ServerBackend, Protocol):
    """Performs the effects of the edge, and those of the protocol."""

    def authenticate(self, environ: dict[str, Any], auth: Any, headers: Headers) -> MaybeAwaitable[Grant | None]:
        """The decision of the authentication provider, within a time limit."""
        ...

    def call_handler(self, handler: Callable[..., Any], *args: Any) -> MaybeAwaitable[Any]:
        """Call a method of the host program."""
        ...

    def disconnect(self, sid: str) -> MaybeAwaitable[None]:
        """Disconnect a client from the namespace."""
        ...

    def wait_for(self, replies: Sequence[Reply], seconds: float) -> MaybeAwaitable[None]:
        """Wait until all replies are settled and acknowledged, at most `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class Authenticate(Effect[EdgeBackend, Grant | None]):
    """Ask the authentication provider about a connection; None rejects it."""

    environ: dict[str, Any]
    auth: Any
    headers: Headers

    def perform(self, backend: EdgeBackend) -> MaybeAwaitable[Grant | None]:
        return backend.authenticate(self.environ, self.auth, self.headers)


class CallHandler(Effect[EdgeBackend, Any]):
    """Call an `on_` method of the host program."""

    __slots__ = ("_args", "_handler")

    def __init__(self, handler: Callable[..., Any], *args: Any) -> None:
        self._handler = handler
        self._args = args

    def perform(self, backend: EdgeBackend) -> MaybeAwaitable[Any]:
        return backend.call_handler(self._handler, *self._args)


@dataclass(frozen=True, slots=True)
class TakeTurn(Effect[EdgeBackend, None]):
    """Wait until no other join or leave of a connection runs; the caller releases its lock afterwards."""

    connection: Connection

    def perform(self, backend: EdgeBackend) -> MaybeAwaitable[None]:
        return self.connection.lock.acquire()


@dataclass(frozen=True, slots=True)
class Disconnect(Effect[EdgeBackend, None]):
    """Disconnect a client from the namespace."""

    sid: str

    def perform(self, backend: EdgeBackend) -> MaybeAwaitable[None]:
        return backend.disconnect(self.sid)


@dataclass(frozen=True, slots=True)
class WaitForReplies(Effect[EdgeBackend, None]):
    """Wait until all replies are settled and acknowledged, at most `seconds`."""

    replies: Sequence[Reply]
    seconds: float

    def perform(self, backend: EdgeBackend) -> MaybeAwaitable[None]:
        return backend.wait_for(self.replies, self.seconds)
