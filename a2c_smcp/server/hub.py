"""The clients of a Server: their sessions, what they send, how they enter the namespace and how they leave it.

Both shells (`asgi`, `wsgi`) share it. A shell moves bytes and keeps time. Each client has a wire core, which turns
bytes into values such as "an event" or "the client left". The hub acts on these values: it starts the flows of the edge
and sends what they return.

Locks, which matter in threads only: `Client.lock` guards a client's wire core and its outbox, `_lock` the tables and
timers of the hub. A thread that holds a client's lock may take `_lock`, never the other way round, and no flow runs
under either: a flow may send to other clients, whose locks it takes.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, cast

from a2c_smcp.errors import (
    InternalError,
    MalformedRequestError,
    NotFoundError,
    RateLimitedError,
    SMCPError,
    TooLargeError,
)
from a2c_smcp.protocol.dialects.recognition import greeting_in
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Written
from a2c_smcp.server.admission import GrantWatch, Guesses
from a2c_smcp.server.connections import LAST_SECONDS, AddressCounter, client_of
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
    refuse_version,
)
from a2c_smcp.server.payload_text import write_ack
from a2c_smcp.server.sending import Client, ClientT, Sender
from a2c_smcp.utils.light_socketio import socketio
from a2c_smcp.wire.clock import Clock, Timer
from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import Answer, BadAnswer, BadEvent, Enter, Event, Leave, Problem, Value
from a2c_smcp.wire.packets import read_array, unwrap
from a2c_smcp.wire.session import End, Fault

logger = logging.getLogger(__name__)

GOODBYE_SECONDS = 2.0
"""Time to send the last frames to a client that may not be reading."""


class Hub(Sender[ClientT]):
    """All clients of one Server."""

    client_class: ClassVar[type[Client]]

    def __init__(self, namespace: Edge, limits: Limits, wire_limits: WireLimits, cors: Origins) -> None:
        super().__init__(namespace.namespace)
        self._origins = cors
        self.limits = limits
        self.wire_limits = wire_limits
        self.namespace = namespace
        self.namespace_handlers = {namespace.namespace: namespace}
        namespace.server = self
        self.clients: dict[str, ClientT] = {}
        """By the id of their session."""
        self._ended: dict[str, ClientT] = {}
        """Long-polling sessions that ended a moment ago: their last packets wait for one more poll."""
        # Transports, of which an address may have twice as many as members. A client over the limit can thus still open
        # a transport, over which it gets the error; only a flood is rejected without one.
        self._addresses = AddressCounter(2 * limits.connections_per_ip)
        self._guesses = Guesses()
        self._watch = GrantWatch(
            limits.grant_interval, self.set_timer, namespace.connections.grants, self._show_out_expired
        )
        self._clock = Clock(self.now())
        self._lock = threading.RLock()

    def limit(self, limits: Limits, wire_limits: WireLimits) -> None:
        """Change the limits, also of open connections."""
        self.limits, self.wire_limits = limits, wire_limits
        self._addresses.most = 2 * limits.connections_per_ip
        self.namespace.limit(limits)
        for client in list(self.clients.values()):
            # Here too: the edge changes only the buckets of clients that entered the namespace.
            client.bucket.limit(limits.requests_per_second, limits.request_burst)
            with client.lock:
                client.wire.limit(wire_limits)
                client.fit()

    # -------------------------------------------------------------------------------------------- what a shell provides

    @abstractmethod
    def keep_time(self) -> None:
        """A timer was set: call `tick` soon, and again for as long as it returns True."""

    def now(self) -> float:
        """The time in seconds, on a monotonic clock."""
        return time.monotonic()

    def tick(self) -> bool:
        """Call the timers that are due; whether any is left."""
        # Outside the lock: a timer may end a client, which takes locks of its own and may set other timers.
        with self._lock:
            due = self._clock.advance(self.now())
        # One failing callback must not stop the others: all timeouts of the Server depend on this loop.
        for callback in due:
            try:
                callback()
            except Exception:
                logger.exception("a timer failed")
        with self._lock:
            return bool(self._clock)

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""
        with self._lock:
            timer = self._clock.at(self.now() + seconds, callback)
        self.keep_time()
        return partial(self._cancel, timer)

    def _cancel(self, timer: Timer) -> None:
        with self._lock:
            self._clock.cancel(timer)

    def start(self, flow: Flow[Any, Any], on_end: Callable[[Any, BaseException | None], None]) -> None:
        """Run a flow; `on_end` gets what it returned or raised."""
        start(flow, self.namespace.backend, on_end)

    # ---------------------------------------------------------------------------------------------------------- clients

    def route(self, request: Request) -> tuple[Response | ClientT, list[Header]]:
        """The response to a request, or the client that its poll, POST or WebSocket belongs to; and headers to add."""
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
        return self.polling(wanted.sid, is_upgrade=request.is_websocket)

    def polling(self, sid: str, *, is_upgrade: bool = False) -> Response | ClientT:
        """The client that polls a session, or the response if there is none."""
        # A session that ended can still be polled once, for its last packets, but not upgraded.
        client = self.clients.get(sid)
        if client is None and not is_upgrade:
            client = self._ended.get(sid)
        if client is None:
            return UNKNOWN_SESSION
        return client if client.wire.session.carrier == "polling" else NOT_THIS_WAY

    def _open(self, environ: dict[str, Any], carrier: str) -> Response | ClientT:
        """Open a session; for long-polling, the response carries the handshake."""
        address, _ = client_of(environ)
        try:
            self.namespace.check_version(greeting_in(environ))
        except SMCPError as error:
            self.namespace.reject_connection(error, address)
            return refuse_version(error)
        try:
            self._addresses.reserve(address)
        except RateLimitedError as error:
            self.namespace.reject_connection(error, address)
            return TOO_MANY
        wire = Connection(self.new_sid(), self.namespace.namespace, self.wire_limits, self.now(), carrier)
        client = cast("ClientT", self.client_class(self, wire, environ, address))
        environ[BUCKET] = client.bucket  # see `Edge._bucket`
        with self._lock:
            self.clients[wire.session.sid] = client
        # A client that never sends its second request is removed by this timer, like one that does not enter.
        self._schedule(client)
        return client if carrier == "websocket" else Response(body=wire.session.take_payload().encode())

    def new_sid(self) -> str:
        """An id for a session or a member."""
        # The id is the only proof that a request belongs to a session: it must not be guessable.
        cluster = self.namespace.cluster
        return cluster.new_sid() if cluster is not None else secrets.token_urlsafe(15)

    def post(self, client: ClientT, body: bytes | Response) -> Response:
        """Act on the body of a POST, or on the reason why it was not read."""
        # The packets of a body that was not read are missing. Engine.IO cannot ask for them again, so the session ends.
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
                    # The wire read a large event only one level deep. A handler of the host program gets all of it.
                    args = value.args
                    if self.namespace.handles(value.name):
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
            ack = self.namespace.refused(sid, event, InternalError())
        if number is None:
            return
        text = ack.text if isinstance(ack, Written) else write_ack(event, ack, self.namespace.dialect_of(sid))
        with client.lock:
            # The client may have left and entered again meanwhile, under another id and with other ack numbers.
            if client.wire.namespace.sid != sid:
                return
            fault = client.wire.ack(number, text)
        self.sent(client, fault)

    def sent(self, client: ClientT, fault: Fault | int | None) -> None:
        """Have the outbox of a client sent; a `Fault` says that it is full, and ends the session."""
        # Backpressure: a client that does not read fills its outbox. The Server keeps its packets up to a limit, and
        # then ends the session. Waiting for one slow client would stall all clients that send to it.
        if isinstance(fault, Fault):
            self._note(client, fault)
            self.end(client)
        else:
            client.flush()

    def _note(self, client: ClientT, fault: Fault) -> None:
        self.namespace.journal.broken(client.address, fault.reason)

    # ------------------------------------------------------------------------------------------------- coming and going

    def _let_in(self, client: ClientT, auth: Any) -> None:
        # Not the id of the session: members of the office see this one (`server:list_room`), and with the other they
        # could send requests as this client.
        sid = self.new_sid()
        arguments = (auth,) if auth is not None else ()
        flow = self.namespace.connecting(sid, client.environ, *arguments)
        self.start(flow, partial(self._decided, client, sid))

    def _decided(self, client: ClientT, sid: str, is_accepted: Any, error: BaseException | None) -> None:
        if error is not None or not is_accepted:
            self._reject(client, error)
            return
        # The provider may take seconds, during which the client may disconnect. Check and entry are one step under the
        # lock, so that `end` finds either no member or a complete one. The room comes first: as soon as `admit` is
        # sent, the client may be addressed.
        with client.lock:
            is_there = client.wire.session.end is None and client.wire.namespace.is_entering
            fault = None
            if is_there:
                self.rooms.add(sid, client)
                fault = client.wire.admit(sid)
        if is_there:
            client.fit()
            self.sent(client, fault)
            connection = self.namespace.connections.get(sid)
            if connection is not None and connection.grant.holds is not None:
                self._watch.begin()
        else:  # the client disconnected while the provider decided
            self.start(self.namespace.leaving(sid, End.LOST.value), _log_failure)

    def _show_out_expired(self, sid: str) -> None:
        connection = self.namespace.connections.get(sid)
        if connection is not None:
            self.namespace.journal.expired(connection)
            self.show_out(sid)

    def _reject(self, client: ClientT, error: BaseException | None) -> None:
        if isinstance(error, socketio.exceptions.ConnectionRefusedError):
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
            self.sent(client, fault)

        delay = self.delay_of_guess(client.address)
        if delay:
            self.set_timer(delay, reject)
        else:
            reject()

    def delay_of_guess(self, address: str | None) -> float:
        """Count one more rejected credential of an address; the seconds by which to delay its answer."""
        # Clients without an address (loopback, Unix sockets) share one counter: they are on this machine, or behind a
        # proxy that does not forward addresses.
        return self._guesses.delay(address or "", self.now())

    def _leave(self, leave: Leave, reason: str) -> None:
        # At once: the flow may have to wait, and a client that has left must receive nothing more of its office.
        self.rooms.remove(leave.sid)
        self.start(self.namespace.leaving(leave.sid, reason), _log_failure)
        # The flow has ended the relayed calls. These are what is left: requests of the host program.
        for reply in leave.unanswered:
            reply.set_exception(NotFoundError("the client disconnected"))

    def end(self, client: ClientT, end: End = End.LOST) -> None:
        """End a client's session: it leaves the namespace, and its transport is closed."""
        with client.lock:
            if client.is_ended:
                return
            client.is_ended = True
            leave = client.wire.lose(end)
        with self._lock:
            sid = client.wire.session.sid
            self.clients.pop(sid, None)
            # The client's next poll must find the last packets, such as the reason of a rejection, and not an unknown
            # session.
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
        """End a session with an Engine.IO close packet."""
        with client.lock:
            client.wire.session.close()
        self.end(client)

    def show_out(self, sid: str, namespace: str | None = None, **_: Any) -> None:
        """Disconnect a client from the namespace. Its session stays open for a while, so that it can enter again."""
        recipient = self.members.get(sid)
        if recipient is not None:
            recipient.show_out(sid)

    def show_out_client(self, client: ClientT, sid: str) -> None:
        """Disconnect a client, if it still has this id."""
        with client.lock:
            leave = client.wire.disconnect(self.now()) if client.wire.namespace.sid == sid else None
        if leave is not None:
            self._leave(leave, "server disconnect")
            self._schedule(client)
            client.flush()

    def _schedule(self, client: ClientT) -> None:
        # One timer for each client, for whatever comes first: its next ping, a pong that is overdue, or the time limit
        # to enter the namespace. The wire core says when (`wake_at`) and does it (`wake`).
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


def _error_of(problem: Problem, size: int, limits: Limits) -> SMCPError:
    if problem is Problem.TOO_LARGE:
        return TooLargeError(f"a message of {size} bytes; at most {limits.message_bytes} are accepted")
    return MalformedRequestError(problem.value)


def _drop(table: dict[str, Any], key: str) -> None:
    table.pop(key, None)


def _log_failure(_: Any, error: BaseException | None) -> None:
    if error is not None:
        logger.error("a disconnect failed", exc_info=error)
