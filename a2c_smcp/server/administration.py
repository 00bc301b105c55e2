"""What an operator sees of a running Server, and may do to it. The console is built on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from a2c_smcp.errors import NotFoundError
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.protocol.office import Member
from a2c_smcp.protocol.server_effects import Call
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.auth import AnonymousAuthenticationProvider, CredentialAuthenticationProvider
from a2c_smcp.server.connections import Connection
from a2c_smcp.server.key_file import KeyFile
from a2c_smcp.server.metrics import Metrics, Totals
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.watching import CallRecord, CallWatch


@runtime_checkable
class Listing(Protocol):
    """A registry that can list all members."""

    def members(self) -> list[Member]:
        """All members that are in an office."""
        ...


@dataclass(frozen=True, slots=True)
class SeatedMember:
    """A member of an office, with its connection if it is connected to this Server."""

    member: Member
    connection: Connection | None
    is_local: bool
    """Whether it is a part of this process, such as the gateway's shared Agent."""

    @property
    def is_ours(self) -> bool:
        """Whether it is a client of this project."""
        return self.member.dialect == HOME.name


class Administration:
    """The operator's view of one Server. All of it belongs to its event loop."""

    def __init__(self, hub: AsyncHub, namespace: SMCPNamespace, metrics: Metrics | None) -> None:
        self._hub = hub
        self._namespace = namespace
        self._metrics = metrics
        self._own_metrics: Metrics | None = None
        self._watchers = 0
        self.began = time.time()
        """About when the Server started."""
        self.stop: Callable[[], None] | None = None
        """Ends the Server gracefully; None if only its host program can."""

    # ---------------------------------------------------------------------------------------------------------- reading

    @property
    def is_open(self) -> bool:
        """Whether the Server accepts every client, without a credential."""
        return isinstance(self._namespace.auth_provider, AnonymousAuthenticationProvider)

    @property
    def is_draining(self) -> bool:
        """Whether the Server shuts down."""
        return self._namespace.draining

    @property
    def key_file(self) -> KeyFile | None:
        """The first key file of the Server."""
        provider = self._namespace.auth_provider
        if not isinstance(provider, CredentialAuthenticationProvider):
            return None
        return next((each for each in provider.verifiers if isinstance(each, KeyFile)), None)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._namespace.connections)

    def members(self) -> list[SeatedMember]:
        """All members of the offices of this Server; in a cluster, of those in which it has members."""
        registry = self._namespace.registry
        connections = self._namespace.connections.all()
        members = registry.members() if isinstance(registry, Listing) else self._own_members(connections)
        return [self._seated(member, connections.get(member.sid)) for member in members]

    def calls(self) -> list[Call]:
        """The relayed calls that wait for an answer."""
        return self._namespace.in_flight.calls()

    def member(self, sid: str) -> Member | None:
        """The member of a connection of this Server."""
        found = self._namespace.registry.member(sid)
        return found if isinstance(found, Member) else None

    def totals(self) -> Totals:
        """The calls since the Server started, or since somebody looks at them if it keeps no metrics."""
        metrics = self._metrics or self._own_metrics
        return metrics.totals() if metrics is not None else Totals()

    # --------------------------------------------------------------------------------------------------------- watching

    def watch_calls(self, on_change: Callable[[CallRecord], None]) -> CallWatch:
        """Record calls from now on, until `unwatch_calls`."""
        self._namespace.watcher = watch = CallWatch(self.member, on_change)
        return watch

    def unwatch_calls(self) -> None:
        """Record no more calls."""
        self._namespace.watcher = None

    def count(self) -> None:
        """Count calls from now on, if the Server keeps no metrics."""
        self._watchers += 1
        if self._namespace.observer is None:
            self._namespace.observer = self._own_metrics = Metrics()

    def count_no_more(self) -> None:
        """Undo `count`."""
        self._watchers -= 1
        if not self._watchers and self._own_metrics is not None:
            self._namespace.observer = self._own_metrics = None

    # ----------------------------------------------------------------------------------------------------------- acting

    def disconnect(self, office_id: str, name: str) -> Member:
        """Disconnect a member. It may connect again, unless its key is removed.

        Raises:
            NotFoundError: there is no such member on this Server.
        """
        for seated in self.members():
            member = seated.member
            if member.office_id == office_id and member.name == name and seated.connection is not None:
                self._namespace.journal.shown_out(member, seated.connection)
                self._hub.show_out(member.sid)
                return member
        raise NotFoundError("this Server has no such member")

    def end_call(self, caller: str, req_id: str) -> None:
        """End a running call: its Agent gets an error, and its Computer is told to cancel it.

        Raises:
            NotFoundError: it does not run any more.
        """
        if not self._namespace.in_flight.end(caller, req_id):
            raise NotFoundError("this call does not run any more")

    def drain(self) -> None:
        """Let running calls end, then end the Server.

        Raises:
            NotFoundError: only its host program can do that.
        """
        if self.stop is None:
            raise NotFoundError("this Server is a part of another program, which has to end it")
        self.stop()

    # ---------------------------------------------------------------------------------------------------------- details

    def _own_members(self, connections: dict[str, Connection]) -> list[Member]:
        found = (self.member(sid) for sid in connections)
        return [member for member in found if member is not None and member.office_id is not None]

    def _seated(self, member: Member, connection: Connection | None) -> SeatedMember:
        return SeatedMember(member, connection, is_local=connection is not None and connection.bucket is None)
