"""The edge of the Server: the steps before and after the protocol's rules, as flows.

It authenticates connections, enforces limits, calls the handlers of a host program, keeps the log and the metrics, and
shuts down. Rules about offices are in `protocol.server`. Nothing here waits: the flows yield effects, which a backend
performs. `namespace` and `sync_namespace` are the two forms that a program uses.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from a2c_smcp import __version__, smcp
from a2c_smcp.errors import (
    ForbiddenError,
    InternalError,
    MalformedRequestError,
    NotAuthenticatedError,
    NotConnectedError,
    RateLimitedError,
    SMCPError,
    VersionRefusedError,
)
from a2c_smcp.protocol.answers import failure_in, was_cancelled
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import HOME, PLAIN
from a2c_smcp.protocol.dialects.recognition import Greeting, recognise
from a2c_smcp.protocol.dialects.versions import AllowedVersions, refusal_body
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.grants import EVERYTHING, Grant
from a2c_smcp.protocol.limits import Limits, TokenBucket
from a2c_smcp.protocol.office import Member
from a2c_smcp.protocol.server import Answer, Request, answer, depart
from a2c_smcp.protocol.server_effects import ReadMember, Registry, ServerBackend, Written
from a2c_smcp.server.auth import Headers
from a2c_smcp.server.calls_in_flight import CallsInFlight
from a2c_smcp.server.connections import Connection, Connections, client_of
from a2c_smcp.server.edge_effects import Authenticate, CallHandler, Disconnect, EdgeBackend, TakeTurn, WaitForReplies
from a2c_smcp.server.event_methods import EventMethod
from a2c_smcp.server.journal import CANCELLED, OK, Journal
from a2c_smcp.server.registry import MemoryRegistry
from a2c_smcp.smcp import CLIENT_PREFIX
from a2c_smcp.utils.light_socketio import socketio
from a2c_smcp.utils.text import printable

logger = logging.getLogger(__name__)

EdgeFlow: TypeAlias = Flow[EdgeBackend, Any]

SHORTEST_WAIT = 0.01
"""The shortest `retry_after`, in seconds, of a client over its rate limit."""
BUCKET = "a2c.bucket"
"""The key in a connection's environ under which a shell puts the token bucket of the transport."""
_MOVES = frozenset((smcp.JOIN_OFFICE_EVENT, smcp.LEAVE_OFFICE_EVENT))
_LIFECYCLE = frozenset(("connect", "disconnect"))
_AWAY = "this Server has no connection to its cluster: connect again"


class Observer(Protocol):
    """Observes requests and notifications; `Metrics` is one."""

    wants_office: bool
    """Whether `answered` gets the office, which has to be looked up for each request."""

    def answered(self, event: str, outcome: str, seconds: float, office_id: str | None) -> None:
        """A request was answered. `outcome` is `ok`, `cancelled`, or the code of an error."""
        ...

    def rejected(self, error: SMCPError) -> None:
        """The Server rejected a connection or a request."""
        ...

    def notified(self, event: str) -> None:
        """The Server sent a notification, to an office or to one member."""
        ...


class Watcher(Protocol):
    """Watches requests while an operator looks at them."""

    def flow(self, request: Request, started: float, /) -> Flow[ServerBackend, Answer]:
        """The flow that answers a request, which arrived at `started` on the clock of `perf_counter`."""
        ...


@runtime_checkable
class MountObserver(Protocol):
    """An observer that also observes what the Server's other applications do, such as the gateway; `Metrics` is one."""

    def mount_answered(self, principal: str, method: str, outcome: str) -> None:
        """A request of a user was answered. `outcome` is `ok`, `failed`, `cancelled`, or the code of an error."""
        ...


class Cluster(Protocol):
    """What the edge needs of the cluster that its Server is a node of."""

    @property
    def registry(self) -> Registry:
        """The registry that the nodes share."""
        ...

    @property
    def is_serving(self) -> bool:
        """Whether this node may act for its members."""
        ...

    def new_sid(self) -> str:
        """An id for a connection or a session, from which every node knows whose it is."""
        ...


class Edge(ABC, socketio.base_namespace.BaseServerNamespace):
    """The base of both namespaces."""

    server: Any
    auth_provider: Any

    def __init__(
        self, namespace: str, registry: Registry | None, limits: Limits | None, observer: Observer | None
    ) -> None:
        super().__init__(namespace)
        self.registry: Registry = registry if registry is not None else MemoryRegistry()
        self.limits = limits if limits is not None else Limits()
        self.observer = observer
        self.connections = Connections(self.limits)
        self.in_flight = CallsInFlight(self.limits.calls_in_flight, self.connections.is_limited)
        self.journal = Journal()
        self.draining = False
        self.versions: AllowedVersions | None = None
        """The versions of the protocol that clients may speak; None for all."""
        self.cluster: Cluster | None = None
        self.watcher: Watcher | None = None
        """Watches requests; None while nobody looks at them."""
        self._turn: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        """Held while a member joins or leaves, in threads. A leave is announced before it is committed: without the
        lock, a client that receives it could ask for the name before it is free, and be rejected. On an event loop both
        happen before any client can react."""
        self._handlers = self._collect_handlers()

    def limit(self, limits: Limits) -> None:
        """Change the limits, also of open connections."""
        self.limits = limits
        self.connections.limit(limits)
        self.in_flight.most = limits.calls_in_flight

    def join_cluster(self, cluster: Cluster, backend: EdgeBackend) -> None:
        """Share the offices with the other nodes of a cluster, whose backend reaches them."""
        self.cluster = cluster
        self.registry = cluster.registry
        self.backend = backend

    # --------------------------------------------------------------------------------------- what a driver must provide

    @cached_property
    def backend(self) -> EdgeBackend:
        """Performs the effects of the flows, on the server that this namespace is registered on."""
        return self._make_backend()

    @abstractmethod
    def _make_backend(self) -> EdgeBackend:
        """The backend for `self.server`, which is known by now."""

    @abstractmethod
    def _make_lock(self) -> Any:
        """A lock with `acquire()`, which may have to be awaited, and `release()`."""

    # -------------------------------------------------------------------------------------------------------- the flows

    def connecting(self, sid: str, environ: dict[str, Any], *auth: Any) -> EdgeFlow:
        """Call `on_connect`, which a subclass may override; whether the client is accepted. If not, nothing is kept.

        Raises:
            ConnectionRefusedError: with a message and a code.
        """
        # Only `False` rejects, as in python-socketio: a handler that returns nothing accepts the client.
        accepted: Any = False
        try:
            if self._is_own("on_connect"):
                accepted = yield from self._let_in(sid, environ, *auth)
            else:
                accepted = yield from CallHandler(self._handlers["connect"], sid, environ, *auth)
        except socketio.exceptions.ConnectionRefusedError:
            raise
        except Exception:
            logger.exception("connect of %s failed", sid)
            raise _refused_connection(InternalError()) from None
        # A subclass may call `super()`, which adds the connection, and then raise or return False.
        finally:
            if accepted is False:
                self.connections.remove(sid)
        # A subclass may also decide on its own, without `super()`. Then no provider gave a grant, and its decision is
        # the only one.
        if accepted is not False and sid not in self.connections:
            self._add(sid, None, EVERYTHING, environ, recognise(environ.get("QUERY_STRING") or ""))
        return accepted is not False

    def dispatch(
        self, event: str, sid: str, args: Sequence[Any], text: str | None = None, unreadable: SMCPError | None = None
    ) -> EdgeFlow:
        """Answer an event of a client; whatever happens, the sender gets an ack. `text` is the event as it came, and
        `unreadable` the reason why it could not be read."""
        # Screened first: events that cannot be read count towards the rate limit, too.
        error = self._screen(event, sid, args) or unreadable
        if error is None:
            handler = self._handlers.get(event)
            try:
                if handler is not None:
                    return (yield from self._consult(handler, event, sid, args))
                return (yield from self._answer(event, sid, args[0] if args else None, text))
            except Exception:
                logger.exception("%s from %s failed", printable(event, 256), sid)
                error = InternalError()
        request = Request(event, sid, args[0] if args else None, self.limits)
        yield from self._record(request, Answer(None, error), 0.0)
        return self.refused(sid, event, error)

    def refused(self, sid: str, event: str, error: SMCPError) -> Any:
        """The ack that tells a client of an error, in its dialect."""
        return self.dialect_of(sid).refused(event, error)

    def dialect_of(self, sid: str) -> Dialect:
        """The dialect of a client."""
        connection = self.connections.get(sid)
        return connection.greeting.dialect if connection is not None else PLAIN

    def _consult(self, handler: Callable[..., Any], event: str, sid: str, args: Sequence[Any]) -> EdgeFlow:
        """Call the handler of a host program."""
        if event != smcp.GET_TOOLS_EVENT:
            return (yield from CallHandler(handler, sid, *args))
        # The handler may change the list of tools, and the digest of the Computer would be that of another list: the
        # Agent would learn that its list is unchanged when it is not. A handler that knows no digests would also find
        # no list in an answer that says so.
        ack = yield from CallHandler(handler, sid, *(_without(arg, "known_digest") for arg in args))
        return _without(ack, "digest")

    def triggered(self, event: Any, sid: str, *args: Any) -> EdgeFlow:
        """An event as python-socketio hands it over. Its own `connect` and `disconnect` come the same way as events of
        clients, and a client may send events of these names."""
        if event == "connect" and self._is_connecting(sid, args):
            return (yield from self.connecting(sid, *args))
        if event == "disconnect" and sid in self.connections and self._is_reason(args):
            # A client can send an event of this name with a text, which looks like the reason. It is then disconnected:
            # the Server has removed it from its office, and it must not stay connected without being known.
            yield from self.leaving(sid, *args)
            return (yield from Disconnect(sid))
        return (yield from self.dispatch(event if isinstance(event, str) else "", sid, args))

    def leaving(self, sid: str, *reason: Any) -> EdgeFlow:
        """Call `on_disconnect`, which a subclass may override, with the reason if it takes one."""
        if self._is_own("on_disconnect"):
            yield from self._let_go(sid, *reason)
            return
        # `on_disconnect(sid)` without a reason is the older form, which python-socketio supports as well. It calls the
        # handler and retries on a TypeError; that would run a handler twice that raises one itself.
        handler = self._handlers["disconnect"]
        try:
            inspect.signature(handler).bind(sid, *reason)
        except TypeError:
            reason = ()
        try:
            yield from CallHandler(handler, sid, *reason)
        except Exception:
            logger.exception("disconnect of %s failed", sid)
        finally:
            # Also if the subclass did not call `super()`, or raised before it: the name must become free. A second time
            # does nothing.
            yield from self._let_go(sid, *reason)

    def _answer(self, event: str, sid: str, data: Any = None, text: str | None = None) -> EdgeFlow:
        """Run the protocol's flow of an event and return its ack."""
        started = time.perf_counter()
        connection = self.connections.get(sid)
        dialect = connection.greeting.dialect if connection is not None else PLAIN
        request = Request(event, sid, data, self.limits, text, dialect)
        if connection is None or event not in _MOVES:
            if connection is not None and connection.lock.locked():
                # Official Agents join without waiting for the ack: their next request must not overtake the join.
                yield from TakeTurn(connection)
                connection.lock.release()
            # The only cost of an operator's pages while nobody looks at them.
            watcher = self.watcher
            outcome = yield from (answer(request) if watcher is None else watcher.flow(request, started))
        else:
            # Joins and leaves of one connection run one after another: a client that sends "join a", "join b" without
            # waiting must end in b, and its notifications must come in that order.
            yield from TakeTurn(connection)
            try:
                with self._turn:
                    before = yield from ReadMember(sid)
                    outcome = yield from answer(request)
                    after = yield from ReadMember(sid)
            finally:
                connection.lock.release()
            if before != after:
                self.journal.moved(before, after, connection)
        yield from self._record(request, outcome, time.perf_counter() - started)
        return outcome.ack

    def _let_in(self, sid: str, environ: dict[str, Any], auth: Any = None) -> EdgeFlow:
        """Accept or reject a connection.

        Raises:
            ConnectionRefusedError: with a message and a code.
        """
        address, headers = client_of(environ)
        greeting = recognise(environ.get("QUERY_STRING") or "")
        try:
            self.check_version(greeting)
            if self.draining:
                raise InternalError("the Server is shutting down")
            if self._is_away:
                raise InternalError(_AWAY)
            # The place is released on any error, also a cancellation: otherwise an address would lose one for good.
            self.connections.reserve(address)
            try:
                grant = yield from self.authenticating(environ, auth, headers)
            except BaseException:
                self.connections.release(address)
                raise
        except SMCPError as error:
            self.reject_connection(error, address)
            raise _refused_connection(error) from None
        connection = self._add(sid, address, grant, environ, greeting)
        self.journal.connected(connection)
        return True

    def check_version(self, greeting: Greeting) -> None:
        """Check what a client named as its version. Clients of this project speak every version.

        Raises:
            SMCPError: the operator does not allow the version.
        """
        if self.versions is not None and greeting.dialect is not HOME:
            self.versions.check(greeting.named)

    def admit(self, sid: str, grant: Grant) -> None:
        """Accept a connection of this process itself. It has no limits: the hosts behind it have theirs.

        Raises:
            InternalError: the Server is shutting down, or has no connection to its cluster.
        """
        if self.draining:
            raise InternalError("the Server is shutting down")
        if self._is_away:
            raise InternalError(_AWAY)
        greeting = Greeting(HOME, __version__, __version__)
        self.connections.add(sid, None, grant, self._make_lock(), None, greeting)

    def _add(
        self, sid: str, address: str | None, grant: Grant, environ: dict[str, Any], greeting: Greeting
    ) -> Connection:
        return self.connections.add(sid, address, grant, self._make_lock(), self._bucket(environ), greeting)

    def reject_connection(self, error: SMCPError, address: str | None) -> None:
        """Log and count a rejected connection."""
        self.journal.rejected_connection(error, address)
        if self.observer is not None:
            self.observer.rejected(error)

    def reject_request(self, error: SMCPError, address: str | None, principal: str | None) -> None:
        """Log and count a rejected request of an MCP host."""
        self.journal.rejected_connection(error, address, principal)
        if self.observer is not None:
            self.observer.rejected(error)

    def _let_go(self, sid: str, reason: Any = None) -> EdgeFlow:
        """The implicit leave of a closed connection: end its calls, announce the leave, free the name."""
        # Removed first: from here on, `is_connected` is false, so that a join that is running cleans up after itself
        # and no new call starts. `drop` then ends those that have started.
        connection = self.connections.remove(sid)
        self.in_flight.drop(sid)
        with self._turn:
            member = yield from ReadMember(sid)
            yield from depart(sid)
        if member is not None:
            self.journal.moved(member, None, connection, str(reason or "the client disconnected"))

    def _shut_down(self, grace: float) -> EdgeFlow:
        """Reject new connections, let running calls end within `grace` seconds, then disconnect all clients."""
        # In this order: new requests are rejected, so that the running ones can only become fewer. Every caller gets an
        # answer before the disconnect, the result of its call or an error.
        self.draining = True
        running = self.in_flight.replies()
        if running:
            logger.info("shutting down: waiting up to %g s for %d running calls", grace, len(running))
            yield from WaitForReplies(running, grace)
        unfinished = self.in_flight.replies()
        for reply in unfinished:
            reply.set_exception(InternalError("the Server is shutting down"))
        if unfinished:
            yield from WaitForReplies(unfinished, grace)  # until their errors are sent
        for sid in self.connections.sids():
            yield from Disconnect(sid)

    def authenticating(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Flow[EdgeBackend, Grant]:
        """What a credential allows.

        Raises:
            SMCPError: it is rejected, or could not be checked.
        """
        try:
            grant = yield from Authenticate(environ, auth, headers)
        except (NotAuthenticatedError, ForbiddenError, NotConnectedError):
            raise
        # A provider that fails rejects the client, and never lets it in. The client learns no details: they may contain
        # the credential, or addresses inside the operator's network.
        except Exception:
            logger.exception("the authentication provider failed")
            raise InternalError("authentication failed") from None
        if grant is None:
            raise NotAuthenticatedError()
        return grant

    # --------------------------------------------------------------------------------------------------------- the rest

    @property
    def _is_away(self) -> bool:
        """Whether this Server is a node that may not act: its members may have been replaced on other nodes."""
        return self.cluster is not None and not self.cluster.is_serving

    def _is_connecting(self, sid: str, args: tuple[Any, ...]) -> bool:
        """Whether a `connect` event comes from python-socketio. A client may send an event of that name at any time,
        but not with the environ of its connection as the argument."""
        return sid not in self.connections and bool(args) and args[0] is self.server.get_environ(sid, self.namespace)

    def _is_reason(self, args: tuple[Any, ...]) -> bool:
        return len(args) <= 1 and all(isinstance(reason, str) for reason in args)

    def handles(self, event: str) -> bool:
        """Whether a subclass has its own handler for an event."""
        return event in self._handlers

    @property
    def is_extended(self) -> bool:
        """Whether a subclass has its own handlers; then events start in the order of their arrival."""
        return bool(self._handlers.keys() - _LIFECYCLE)

    def _is_own(self, method: str) -> bool:
        """Whether a method is not overridden by a host program."""
        return getattr(type(self), method).__module__.startswith(__package__ or "a2c_smcp")

    def _bucket(self, environ: dict[str, Any]) -> TokenBucket:
        """The token bucket of a connection: that of its transport, if it has one.

        A client may leave the namespace and enter it again over the same transport. With a bucket for each entry, that
        would be a way around the rate limit.
        """
        return environ.get(BUCKET) or TokenBucket(self.limits.requests_per_second, self.limits.request_burst)

    def _collect_handlers(self) -> dict[str, Callable[..., Any]]:
        """The bound `on_` methods of a subclass, by event. The inherited ones are left out: their flows run directly.

        The table is built once. Looking up `"on_" + event` for each event would let a client choose any attribute.
        """
        handlers: dict[str, Callable[..., Any]] = {}
        for attribute in dir(self):
            if attribute.startswith("on_") and not isinstance(inspect.getattr_static(self, attribute), EventMethod):
                event = attribute.removeprefix("on_")
                if event.startswith(("client_", "server_")):
                    event = event.replace("_", ":", 1)
                handlers[event] = getattr(self, attribute)
        return handlers

    def _screen(self, event: str, sid: str, args: Sequence[Any]) -> SMCPError | None:
        """The reason to reject an event without looking at its meaning; None if there is none."""
        connection = self.connections.get(sid)
        bucket = connection.bucket if connection is not None else None
        if bucket is not None and not bucket.take(time.monotonic()):
            details = {"retry_after": max(round(bucket.wait, 3), SHORTEST_WAIT)}
            return RateLimitedError(f"more than {self.limits.requests_per_second:g} requests a second", details=details)
        if not event or event in _LIFECYCLE:
            return MalformedRequestError("not an event of the protocol")
        if self._is_away:
            return InternalError(_AWAY)
        # Only requests that start something are rejected. A cancellation, for example, must still reach the Computer.
        if self.draining and (event.startswith(CLIENT_PREFIX) or event == smcp.JOIN_OFFICE_EVENT):
            return InternalError("the Server is shutting down")
        if len(args) > 1:
            return MalformedRequestError("payload: one object is expected")
        return None

    def _record(self, request: Request, answer: Answer, seconds: float) -> EdgeFlow:
        """Log an answered request and count it; also one that the Computer answered with an error."""
        outcome, failure = outcome_of(answer)
        is_rejected, observer = answer.error is not None, self.observer
        is_logged = self.journal.wants(failure, is_rejected=is_rejected)
        # The member is read only if something uses it: this runs for every request, and most are neither logged nor
        # counted by office.
        member: Member | None = None
        if is_logged or (observer is not None and observer.wants_office):
            member = yield from ReadMember(request.sid)
        if observer is not None:
            observer.answered(request.event, outcome, seconds, member.office_id if member is not None else None)
            if answer.error is not None:
                observer.rejected(answer.error)
        if is_logged:
            connection = self.connections.get(request.sid)
            self.journal.answered(request, failure, outcome, seconds, member, connection, is_rejected=is_rejected)


def outcome_of(answer: Answer) -> tuple[str, SMCPError | None]:
    """The outcome of a request: `ok`, `cancelled`, or the code of its failure; and the failure."""
    ack = answer.ack.value if isinstance(answer.ack, Written) else answer.ack
    failure = answer.error or failure_in(ack)
    if answer.is_abandoned or (failure is not None and was_cancelled(ack)):
        return CANCELLED, None  # the sender cancelled it or went away: no failure
    return OK if failure is None else str(failure.code), failure


def _without(data: Any, field: str) -> Any:
    if not isinstance(data, dict):
        return data
    return {key: value for key, value in cast("dict[str, Any]", data).items() if key != field}


def _refused_connection(error: SMCPError) -> socketio.exceptions.ConnectionRefusedError:
    # Official clients read the versions from here, where the Server cannot refuse the HTTP request.
    data = refusal_body(error) if isinstance(error, VersionRefusedError) else {"code": error.code}
    return socketio.exceptions.ConnectionRefusedError(error.message, data)
