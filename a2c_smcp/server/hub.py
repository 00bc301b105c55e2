"""The clients of a Server, and what passes between them and its namespace. Both shells share it.

A shell moves bytes and keeps time. The hub knows every client, which rooms it is in, and what the values mean that a
client's wire core gives: it starts the flows, and sends what they decide.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast

from socketio.exceptions import ConnectionRefusedError

from a2c_smcp.errors import (
    InternalError,
    MalformedRequestError,
    NotFoundError,
    RateLimitedError,
    SMCPError,
    TooLargeError,
)
from a2c_smcp.protocol.answers import refusal
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.limits import Limits, TokenBucket
from a2c_smcp.protocol.server_effects import Written
from a2c_smcp.server.admission import GrantWatch, Guesses
from a2c_smcp.server.connections import AddressCounter, client_of
from a2c_smcp.server.edge import BUCKET, Edge
from a2c_smcp.server.flow_runner import start
from a2c_smcp.server.http import (
    BAD_METHOD,
    FOREIGN,
    NOT_THIS_WAY,
    TOO_MANY,
    UNKNOWN_SESSION,
    Header,
    Origins,
    Request,
    Response,
    bad_request,
    cors,
    read_query,
)
from a2c_smcp.server.payload_text import read_ack, write_ack, write_event
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.rooms import Rooms
from a2c_smcp.wire.clock import Clock, Timer
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import Answer, BadAnswer, BadEvent, Enter, Event, Leave, Problem, Value
from a2c_smcp.wire.packets import EVENT, arguments, read_array, unwrap, write_packet
from a2c_smcp.wire.session import End, Fault

logger = logging.getLogger(__name__)

LAST_SECONDS = 5.0
"""For a client to read the rest of what it was sent, when its session is over."""
GOODBYE_SECONDS = 2.0
"""For a client that may not read it."""


class Client(ABC):
    """One client, as a shell carries it. Its lock guards its wire core; a flow never runs under it."""

    def __init__(self, hub: Hub[Any], wire: Connection, environ: dict[str, Any], address: str | None) -> None:
        self.hub = hub
        self.wire = wire
        self.environ = environ
        self.address = address
        self.bucket = TokenBucket(hub.limits.requests_per_second, hub.limits.request_burst)
        self.lock = threading.RLock()
        self.timer: Timer | None = None
        self.is_ended = False

    @abstractmethod
    def flush(self) -> None:
        """Send what the wire core has to send, as far as the client takes it."""

    def fit(self) -> None:
        """The largest message that is read has changed: the client entered the namespace, or the limits are others."""
        return

    @abstractmethod
    def finish(self) -> None:
        """The session is over: send the rest, then close."""


ClientT = TypeVar("ClientT", bound=Client)


class Hub(ABC, Generic[ClientT]):
    """Every client of one Server."""

    client_class: ClassVar[type[Client]]

    def __init__(self, namespace: Edge, limits: Limits, wire_limits: WireLimits, cors: Origins) -> None:
        self._origins = cors
        self.limits = limits
        self.wire_limits = wire_limits
        self.namespace = namespace
        self.namespace_handlers = {namespace.namespace: namespace}
        namespace.server = self
        self.clients: dict[str, ClientT] = {}
        """By the id of their session."""
        self._ended: dict[str, ClientT] = {}
        """Sessions of long-polling that are over, for the last poll."""
        self._rooms: Rooms[ClientT] = Rooms()
        self.members = self._rooms.members
        """By their id in the namespace."""
        self._addresses = AddressCounter(2 * limits.connections_per_ip)
        self._guesses = Guesses()
        self._watch = GrantWatch(
            limits.grant_interval, self.set_timer, namespace.connections.grants, self._show_out_expired
        )
        self._clock = Clock(self.now())
        self._lock = threading.RLock()

    def limit(self, limits: Limits, wire_limits: WireLimits) -> None:
        """Put other limits in force, for open connections too."""
        self.limits, self.wire_limits = limits, wire_limits
        self._addresses.most = 2 * limits.connections_per_ip
        self.namespace.limit(limits)
        for client in list(self.clients.values()):
            client.bucket.limit(limits.requests_per_second, limits.request_burst)  # it may not have entered yet
            with client.lock:
                client.wire.limit(wire_limits)
                client.fit()

    # ------------------------------------------------------------------------------------------- what a shell provides

    @abstractmethod
    def keep_time(self) -> None:
        """A timer has been set: see that `tick` is called soon, and then again for as long as it says so."""

    def now(self) -> float:
        """Seconds on a clock that does not go back."""
        return time.monotonic()

    def tick(self) -> bool:
        """Do what is due; whether to be called again."""
        with self._lock:
            due = self._clock.advance(self.now())
        for callback in due:
            try:
                callback()
            except Exception:
                logger.exception("a timer failed")
        with self._lock:
            return bool(self._clock)

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have something called later; what cancels it."""
        with self._lock:
            timer = self._clock.at(self.now() + seconds, callback)
        self.keep_time()
        return partial(self._cancel, timer)

    def _cancel(self, timer: Timer) -> None:
        with self._lock:
            self._clock.cancel(timer)

    def start(self, flow: Flow[Any, Any], on_end: Callable[[Any, BaseException | None], None]) -> None:
        """Run a flow; `on_end` gets what it returns, or what it raises."""
        start(flow, self.namespace.backend, on_end)

    # ---------------------------------------------------------------------------------------------------------- clients

    def route(self, request: Request) -> tuple[Response | ClientT, list[Header]]:
        """The answer to a request, or the client whose poll, post or WebSocket it is; and headers for any answer."""
        shared = cors(self._origins, request)
        if shared is None:
            return FOREIGN, []
        if request.method == "OPTIONS" and not request.is_websocket:
            return Response(), shared
        return self._find(request), shared

    def _find(self, request: Request) -> Response | ClientT:
        wanted = read_query(request.query)
        if isinstance(wanted, Response):
            return wanted
        if request.is_websocket != (wanted.carrier == "websocket"):
            return NOT_THIS_WAY
        if request.method not in ("GET", "POST") or (wanted.sid is None and request.method == "POST"):
            return BAD_METHOD
        if wanted.sid is None:
            return self._open(request.environ, wanted.carrier)
        client = self.clients.get(wanted.sid)
        if client is None and not request.is_websocket:
            client = self._ended.get(wanted.sid)
        if client is None:
            return UNKNOWN_SESSION
        return client if client.wire.session.carrier == "polling" else NOT_THIS_WAY

    def _open(self, environ: dict[str, Any], carrier: str) -> Response | ClientT:
        """Open a session; one of long-polling is answered with its handshake."""
        address, _ = client_of(environ)
        try:
            self._addresses.reserve(address)
        except RateLimitedError as error:
            self.namespace.reject_connection(error, address)
            return TOO_MANY
        wire = Connection(secrets.token_urlsafe(15), self.namespace.namespace, self.wire_limits, self.now(), carrier)
        client = cast("ClientT", self.client_class(self, wire, environ, address))
        environ[BUCKET] = client.bucket  # of the transport: entering anew gives no fresh allowance
        with self._lock:
            self.clients[wire.session.sid] = client
        self._schedule(client)
        return client if carrier == "websocket" else Response(body=wire.session.take_payload().encode())

    def post(self, client: ClientT, body: bytes | Response) -> Response:
        """Act on the body of a request; or on why it was not read."""
        if isinstance(body, Response):
            self._note(client, Fault(body.refusal))
            self.end(client, End.FAULT)
            return body
        with client.lock:
            values = client.wire.receive_body(body, self.now())
        self.receive(client, values)
        fault = next((value for value in values if isinstance(value, Fault)), None)
        return bad_request(fault.reason) if fault is not None else Response(body=b"ok")

    def receive(self, client: ClientT, values: Iterable[Value | None]) -> None:
        """Act on what a client sent."""
        for value in values:
            self._act(client, value)
        if client.wire.session.end is not None:
            self.end(client)
        else:
            client.flush()

    def _act(self, client: ClientT, value: Value | None) -> None:
        match value:
            case None:
                return
            case Event():
                sid = client.wire.namespace.sid
                if sid is not None:
                    args = value.args
                    if self.namespace.handles(value.name):  # a method of the program's, which wants all of it
                        args = (read_array(value.text, self.wire_limits.nesting, in_full=True) or [""])[1:]
                    flow = self.namespace.dispatch(value.name, sid, args, value.text)
                    self.start(flow, partial(self._ack, client, sid, value.id, value.name))
            case Answer():
                value.token.set_result(Written(unwrap(value.args), value.text))
            case Enter():
                self._let_in(client, value.auth)
            case Leave():
                self._leave(value, "client disconnect")
                self._schedule(client)
            case BadEvent():
                sid = client.wire.namespace.sid
                if sid is not None:
                    error = _error_of(value.problem, value.size, self.limits)
                    flow = self.namespace.dispatch(value.name, sid, (), unreadable=error)
                    self.start(flow, partial(self._ack, client, sid, value.id, value.name))
            case BadAnswer():
                value.token.set_exception(_error_of(value.problem, value.size, self.limits))
            case Fault():
                self._note(client, value)

    def _ack(
        self, client: ClientT, sid: str, number: int | None, event: str, ack: Any, error: BaseException | None
    ) -> None:
        if error is not None:
            logger.error("%s from %s failed", event, sid, exc_info=error)
            ack = refusal(event, InternalError())
        if number is None:
            return
        text = ack.text if isinstance(ack, Written) else write_ack(event, ack)
        with client.lock:
            if client.wire.namespace.sid != sid:  # it has left meanwhile
                return
            fault = client.wire.ack(number, text)
        self._sent(client, fault)

    def _sent(self, client: ClientT, fault: Fault | int | None) -> None:
        """Something was put into a client's outbox: have it sent, unless that was too much."""
        if isinstance(fault, Fault):
            self._note(client, fault)
            self.end(client)
        else:
            client.flush()

    def _note(self, client: ClientT, fault: Fault) -> None:
        self.namespace.journal.broken(client.address, fault.reason)

    # ------------------------------------------------------------------------------------------------- coming and going

    def _let_in(self, client: ClientT, auth: Any) -> None:
        sid = secrets.token_urlsafe(15)
        arguments = (auth,) if auth is not None else ()
        flow = self.namespace.connecting(sid, client.environ, *arguments)
        self.start(flow, partial(self._decided, client, sid))

    def _decided(self, client: ClientT, sid: str, is_accepted: Any, error: BaseException | None) -> None:
        if error is not None or not is_accepted:
            self._reject(client, error)
            return
        with client.lock:
            is_there = client.wire.session.end is None and client.wire.namespace.is_entering
            fault = None
            if is_there:
                self._rooms.add(sid, client)
                fault = client.wire.admit(sid)
        if is_there:
            client.fit()
            self._sent(client, fault)
            connection = self.namespace.connections.get(sid)
            if connection is not None and connection.grant.holds is not None:
                self._watch.begin()
        else:  # it went meanwhile
            self.start(self.namespace.leaving(sid, End.LOST.value), _log_failure)

    def _show_out_expired(self, sid: str) -> None:
        connection = self.namespace.connections.get(sid)
        if connection is not None:
            self.namespace.journal.expired(connection)
            self.show_out(sid)

    def _reject(self, client: ClientT, error: BaseException | None) -> None:
        if isinstance(error, ConnectionRefusedError):
            problem: dict[str, Any] = error.error_args
        elif error is not None:
            logger.error("connect failed", exc_info=error)
            problem = {"message": "internal fault", "data": {"code": 500}}
        else:
            problem = {"message": "refused"}

        def reject() -> None:
            with client.lock:
                if client.wire.session.end is not None:
                    return
                fault = client.wire.reject(str(problem.get("message", "refused")), problem.get("data"))
            self._sent(client, fault)

        delay = self._guesses.delay(client.address or "", self.now())
        if delay:
            self.set_timer(delay, reject)
        else:
            reject()

    def _leave(self, leave: Leave, reason: str) -> None:
        self._rooms.remove(leave.sid)
        self.start(self.namespace.leaving(leave.sid, reason), _log_failure)

    def end(self, client: ClientT, end: End = End.LOST) -> None:
        """A client's session is over, or shall be: it leaves, and its transport is closed."""
        with client.lock:
            if client.is_ended:
                return
            client.is_ended = True
            leave = client.wire.lose(end)
        with self._lock:
            sid = client.wire.session.sid
            self.clients.pop(sid, None)
            if client.wire.session.carrier == "polling":
                self._ended[sid] = client
                self.set_timer(LAST_SECONDS, lambda: _drop(self._ended, sid))
            if client.timer is not None:
                self._clock.cancel(client.timer)
        self._addresses.release(client.address)
        if leave is not None:
            reason = client.wire.session.end.value if client.wire.session.end is not None else ""
            self._leave(leave, reason)
        client.finish()

    def close(self, client: ClientT) -> None:
        """End a session with a goodbye."""
        with client.lock:
            client.wire.session.close()
        self.end(client)

    def show_out(self, sid: str, namespace: str | None = None, **_: Any) -> None:
        """Have a client leave the namespace; its session stays, for as long as it takes to come in again."""
        client = self.members.get(sid)
        if client is None:
            return
        with client.lock:
            leave = client.wire.disconnect(self.now()) if client.wire.namespace.sid == sid else None
        if leave is not None:
            self._leave(leave, "server disconnect")
            self._schedule(client)
            client.flush()

    def _schedule(self, client: ClientT) -> None:
        with self._lock:
            if client.timer is not None:
                self._clock.cancel(client.timer)
            client.timer = self._clock.at(client.wire.wake_at, partial(self._wake, client))
        self.keep_time()

    def _wake(self, client: ClientT) -> None:
        with client.lock:
            fault = client.wire.wake(self.now())
        if isinstance(fault, Fault):
            self._note(client, fault)
        if client.wire.session.end is not None:
            self.end(client)
        elif not client.is_ended:
            self._schedule(client)
            client.flush()

    # ---------------------------------------------------------------------------------------------------- what goes out

    def send(
        self,
        event: str,
        data: Any = None,
        to: str | None = None,
        room: str | None = None,
        skip_sid: Any = None,
        namespace: str | None = None,
        callback: Callable[..., Any] | None = None,
        **_: Any,
    ) -> None:
        """Send an event to a room or a client, as programs do; `callback` gets the ack of one client."""
        recipient = to or room
        if callback is None or recipient is None:
            self.tell(recipient, event, data, skip_sid)
            return

        def settled(reply: Reply) -> None:
            if reply.has_failed:  # the client is gone: there is no ack
                return
            try:
                callback(*arguments(read_ack(reply.result())))
            except Exception:  # of the host program: it must not end the client whose ack this is
                logger.exception("the callback of an emit failed")

        reply = Reply()
        reply.then(settled)
        self.ask(recipient, write_event(event, data), reply)

    def request(self, event: str, data: Any = None, to: str | None = None, sid: str | None = None) -> Reply:
        """Send an event to a client, as programs do; its ack comes as a reply."""
        reply = Reply()
        self.ask(to or sid or "", write_event(event, data), reply)
        return reply

    def join_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let a client hear a room."""
        self._rooms.join(sid, room)

    def quit_room(self, sid: str, room: str, namespace: str | None = None) -> None:
        """Let it hear the room no longer."""
        self._rooms.quit(sid, room)

    def tell(self, to: str | None, event: str, data: Any, skip: Any = None) -> None:
        """Send an event to a room, to one client, or to everybody."""
        skipped = {skip} if isinstance(skip, str) else set(skip or ())
        packet = write_packet(EVENT, self.namespace.namespace, write_event(event, data))
        for sid, client in self._rooms.listeners(to).items():
            if sid not in skipped:
                with client.lock:
                    fault = client.wire.emit(packet) if client.wire.namespace.sid == sid else None
                self._sent(client, fault)

    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        """Send an event to one client, whose ack settles the reply; its number, for `forget`, if it was sent."""
        client = self.members.get(sid)
        if client is not None:
            with client.lock:
                is_there = client.wire.namespace.sid == sid
                asked = client.wire.ask(text, reply) if is_there else None
            if asked is not None:
                self._sent(client, asked)
                return asked if isinstance(asked, int) else None
            if is_there:
                reply.set_exception(RateLimitedError("too many requests wait for this Computer's answer"))
                return None
        reply.set_exception(NotFoundError("the Computer disconnected"))
        return None

    def forget(self, sid: str, number: int) -> None:
        """The ack of something that a client was asked is not wanted any more."""
        client = self.members.get(sid)
        if client is not None:
            with client.lock:
                client.wire.namespace.forget(number)


def _error_of(problem: Problem, size: int, limits: Limits) -> SMCPError:
    if problem is Problem.TOO_LARGE:
        return TooLargeError(f"a message of {size} bytes; at most {limits.message_bytes} are accepted")
    return MalformedRequestError(problem.value)


def _drop(table: dict[str, Any], key: str) -> None:
    table.pop(key, None)


def _log_failure(_: Any, error: BaseException | None) -> None:
    if error is not None:
        logger.error("a disconnect failed", exc_info=error)
