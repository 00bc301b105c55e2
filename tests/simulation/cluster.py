"""A whole cluster in one process, in virtual time: nodes, their links to a model of Redis, and clients.

The nodes run the real code: the flows, the edge, the registry, the lease. Simulated are the sockets, the time, and the
order in which things happen, which a seed decides.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from a2c_smcp import smcp
from a2c_smcp.errors import InternalError, NotFoundError
from a2c_smcp.protocol.grants import EVERYTHING, Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Call, Written
from a2c_smcp.server.cluster.backend import ClusterBackend
from a2c_smcp.server.cluster.link import LinkLost
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.redis import script
from a2c_smcp.server.flow_runner import start
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.payload_text import write_ack, write_event
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.rooms import Rooms
from tests.simulation.redis_model import PREFIX, RedisModel

LEASE = 8.0
LIMITS = Limits(requests_per_second=0, calls_in_flight=0)


class Scheduler:
    """Virtual time. Everything that happens is an event of some owner; an owner that is paused has its events later."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 0.0
        self._events: list[tuple[float, int, Owner | None, Callable[[], None]]] = []
        self._numbers = 0

    def at(self, when: float, callback: Callable[[], None], owner: Owner | None = None) -> None:
        self._numbers += 1
        heapq.heappush(self._events, (when, self._numbers, owner, callback))

    def after(self, seconds: float, callback: Callable[[], None], owner: Owner | None = None) -> None:
        self.at(self.now + seconds, callback, owner)

    def step(self, until: float) -> bool:
        """Let the next event happen; False if there is none before `until`."""
        if not self._events or self._events[0][0] > until:
            self.now = max(self.now, until)
            return False
        when, _, owner, callback = heapq.heappop(self._events)
        self.now = max(self.now, when)
        if owner is not None and owner.is_dead:
            return True
        if owner is not None and owner.paused_until > self.now:
            self.at(owner.paused_until, callback, owner)
            return True
        callback()
        return True


class Owner:
    """A process that may be paused or killed."""

    is_dead = False
    paused_until = 0.0
    was_paused = False


@dataclass(eq=False)
class SimConnection:
    """One connection of a node. After it broke, Redis still gets some of what was on its way, perhaps much later."""

    number: int
    is_open: bool = True
    arrivals_left: int = 0
    lag: float = 0.0
    to_redis: float = 0.0
    from_redis: float = 0.0

    def break_off(self, random: Random) -> None:
        self.is_open = False
        self.arrivals_left = random.choice((0, 1, 2, 100))
        self.lag = random.choice((0.0, 0.0, 0.05, 0.5, 3.0))


class SimLink:
    """A link to the model: what a connection carries arrives in order, and answers not at all after a cut."""

    def __init__(self, cluster: SimCluster, owner: SimNode) -> None:
        self._pending: deque[Reply] = deque()
        self._cluster = cluster
        self._owner = owner
        self._connection = SimConnection(0, is_open=False)
        self.is_cut = False
        self._inbox = ""

    @property
    def is_connected(self) -> bool:
        return self._connection.is_open

    def connect(self) -> None:
        if self.is_connected or self._owner.is_dead:
            return
        if self.is_cut or self._cluster.is_redis_down:
            self._cluster.scheduler.after(0.5, self.connect, self._owner)
            return
        now = self._cluster.scheduler.now
        self._connection = SimConnection(self._connection.number + 1, to_redis=now, from_redis=now)
        redis = self._cluster.redis
        self._owner.node.on_connected(redis.run_id, redis.uptime)

    def vanish(self) -> None:
        """The process at this end died."""
        self._connection.break_off(self._cluster.random)
        self._cluster.redis.subscribers.pop(self._inbox, None)

    def lose(self) -> None:
        """The connection breaks: commands that Redis has not executed may be executed or not, answers are lost."""
        if not self.is_connected:
            return
        self._connection.break_off(self._cluster.random)
        self._cluster.redis.subscribers.pop(self._inbox, None)
        waiting, self._pending = self._pending, deque[Reply]()

        def notice() -> None:
            for reply in waiting:
                reply.set_exception(LinkLost())
            self._owner.node.on_lost()
            self._cluster.scheduler.after(self._cluster.delay(), self.connect, self._owner)

        self._cluster.scheduler.after(0, notice, self._owner)

    def subscribe(self, node: str) -> None:
        inbox, connection = f"{PREFIX}:inbox:{node}", self._connection

        def act() -> None:
            if connection.is_open:
                subscribers = self._cluster.redis.subscribers
                subscribers.pop(self._inbox, None)
                self._inbox = inbox
                hear = self._owner.node.on_message
                subscribers[inbox] = lambda message: self._receive(lambda: hear(message), connection)

        self._send(act)

    def run(self, script: str, node: str, *arguments: str | int) -> Reply:
        number = self._connection.number
        return self._ask(lambda: self._cluster.redis.run(script, node, number, *arguments))

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        return self._ask(lambda: self._cluster.redis.read(command, table, *arguments))

    def publish(self, node: str, message: bytes) -> None:
        self._send(lambda: self._cluster.redis.publish(node, message))

    def reset(self) -> None:
        self.lose()

    def _ask(self, act: Callable[[], Any]) -> Reply:
        reply, connection = Reply(), self._connection
        if not self.is_connected:
            reply.set_exception(LinkLost())
            return reply
        self._pending.append(reply)

        def answer(value: Any) -> None:
            self._pending.remove(reply)
            reply.set_result(value)

        def executed() -> None:
            value = act()
            self._receive(lambda: answer(value), connection)

        self._send(executed)
        return reply

    def _send(self, act: Callable[[], None]) -> None:
        """Have Redis do something after what was sent before. A broken connection may still deliver it, or not."""
        connection, cluster = self._connection, self._cluster
        if not connection.is_open:
            return
        process = cluster.redis.run_id

        def arrive() -> None:
            if connection.is_open:
                act()
            elif connection.arrivals_left:
                connection.arrivals_left -= 1
                cluster.scheduler.after(connection.lag, arrive_late)

        def arrive_late() -> None:
            if not cluster.is_redis_down and cluster.redis.run_id == process:
                act()

        connection.to_redis = max(connection.to_redis, cluster.scheduler.now + cluster.delay())
        cluster.scheduler.at(connection.to_redis, arrive)

    def _receive(self, act: Callable[[], None], connection: SimConnection) -> None:
        def arrive() -> None:
            if connection.is_open:
                act()

        connection.from_redis = max(connection.from_redis, self._cluster.scheduler.now + self._cluster.delay())
        self._cluster.scheduler.at(connection.from_redis, arrive, self._owner)


class SimLock:
    def __init__(self) -> None:
        self._is_held = False
        self._waiting: deque[Reply] = deque()

    def acquire(self) -> Reply:
        reply = Reply()
        if self._is_held:
            self._waiting.append(reply)
        else:
            self._is_held = True
            reply.set_result(None)
        return reply

    def release(self) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self._is_held = False


class SimEdge(SMCPNamespace):
    def _make_lock(self) -> Any:
        return SimLock()


class SimBackend(ClusterBackend):
    def authenticate(self, environ: dict[str, Any], auth: Any, headers: Any) -> Grant:
        return EVERYTHING

    def wait_for(self, replies: Any, seconds: float) -> None:
        return


class SimNode(Owner):
    """One Server process: a hub of simulated clients, the edge, and the node."""

    def __init__(self, cluster: SimCluster, drift: float) -> None:
        self.cluster = cluster
        self._drift = drift
        self.rooms: Rooms[SimClient] = Rooms()
        self.members = self.rooms.members
        self.edge = SimEdge(limits=LIMITS)
        self.link = SimLink(cluster, self)
        self.node = cluster.make_node(self)
        self.edge.join_cluster(self.node, SimBackend(self.edge, self, self.node, self.link))  # type: ignore[arg-type]
        self.edge.server = self
        self._asked: dict[tuple[str, int], Reply] = {}
        self._numbers = 0

    # A hub.

    def now(self) -> float:
        return self.cluster.scheduler.now * self._drift + 1000 * self._drift

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        is_cancelled = [False]

        def fire() -> None:
            if not is_cancelled[0]:
                callback()

        self.cluster.scheduler.after(seconds / self._drift + 0.05, fire, self)
        return lambda: is_cancelled.__setitem__(0, True)

    def tell(self, to: str | None, event: str, data: Any, skip: Any = None) -> None:
        self.tell_text(to, write_event(event, data), skip)

    def tell_text(self, to: str | None, text: str, skip: Any = None) -> None:
        for sid, client in self.rooms.listeners(to).items():
            if sid != skip:
                self._deliver(client, sid, lambda client=client: client.on_event(*json.loads(text)))

    def ask(self, sid: str, text: str, reply: Reply) -> int | None:
        client = self.members.get(sid)
        if client is None:
            reply.set_exception(NotFoundError("the Computer disconnected"))
            return None
        self._numbers += 1
        number = self._numbers
        self._asked[sid, number] = reply

        def answer(ack: Any) -> None:
            def arrive() -> None:
                waiting = self._asked.pop((sid, number), None)
                if waiting is not None:
                    waiting.set_result(Written(ack, write_ack("", ack)))

            self.cluster.scheduler.after(self.cluster.delay(), arrive, self)

        self._deliver(client, sid, lambda: client.on_call(json.loads(text)[1], answer))
        return number

    def forget(self, sid: str, number: int) -> None:
        self._asked.pop((sid, number), None)

    def join_room(self, sid: str, room: str) -> None:
        self.rooms.join(sid, room)

    def quit_room(self, sid: str, room: str) -> None:
        self.rooms.quit(sid, room)

    def show_out(self, sid: str) -> None:
        client = self.members.get(sid)
        if client is not None:
            self.disconnected(sid)
            self._deliver(client, sid, client.on_disconnected, is_last=True)

    def close_all(self) -> None:
        for sid in list(self.members):
            self.show_out(sid)

    def _deliver(self, client: SimClient, sid: str, act: Callable[[], None], *, is_last: bool = False) -> None:
        """Have a client receive something, after what was sent to it before."""

        def arrive() -> None:
            if client.sid == sid:
                act()

        scheduler = self.cluster.scheduler
        client.receiving = max(client.receiving, scheduler.now + self.cluster.delay())
        scheduler.at(client.receiving, arrive)

    # A host.

    def token_bytes(self, count: int) -> bytes:
        return self.cluster.random.randbytes(count)

    def call(self, caller: str, target: str, seconds: float, text: str) -> Reply:
        if self.edge.draining:
            raise InternalError("the Server of the Computer is shutting down")
        return self.edge.backend.call(Call(caller, target, "", None, seconds, text))  # type: ignore[return-value]

    def question(self, subject: str, fields: list[str], body: bytes) -> Reply:
        raise InternalError("no questions here")

    # What clients do.

    def connected(self, client: SimClient) -> None:
        sid = self.node.new_sid()

        def decided(is_accepted: Any, error: BaseException | None) -> None:
            if error is None and is_accepted:
                self.rooms.add(sid, client)
                client.on_connected(self, sid)
            else:
                client.on_rejected()

        start(self.edge.connecting(sid, {}), self.edge.backend, decided)

    def sent(self, sid: str, event: str, data: Any, on_ack: Callable[[Any], None]) -> None:
        client = self.members.get(sid)
        if client is None:
            return
        text = write_event(event, data)

        def ended(ack: Any, error: BaseException | None) -> None:
            assert error is None, error
            value = ack.value if isinstance(ack, Written) else ack
            self._deliver(client, sid, lambda: on_ack(value))

        start(self.edge.dispatch(event, sid, (data,), text), self.edge.backend, ended)

    def disconnected(self, sid: str) -> None:
        if sid in self.members:
            self.rooms.remove(sid)
            start(self.edge.leaving(sid, "gone"), self.edge.backend, _no_error)


def _no_error(_: Any, error: BaseException | None) -> None:
    assert error is None, error


@dataclass
class Asked:
    """A request of a client: when it was sent, and how often it was answered."""

    event: str
    data: dict[str, Any]
    sent: float
    bound: float
    answers: list[Any] = field(default_factory=list[Any])
    is_void: bool = False
    """Whether the client disconnected before the answer."""


class SimClient:
    """An Agent or a Computer. It connects, joins, calls and answers when the history says so."""

    def __init__(self, cluster: SimCluster, name: str, role: str) -> None:
        self.cluster = cluster
        self.name = name
        self.role = role
        self.node: SimNode | None = None
        self.sid: str | None = None
        self.receiving = 0.0
        self.goal: str | None = None
        """The office that it wants to be in."""
        self.office: str | None = None
        """The office that it knows it is in; it is settled there."""
        self.wanted: str | None = None
        """The office it asked for and has no answer about; or that it asked to leave."""
        self.maybe: set[str | None] = set()
        """The offices it may still be in, or be in already, while it waits for the answer to a join or a leave."""
        self.view: set[str] | None = None
        self.heard: dict[tuple[str, str], bool] = {}
        """Whether a member entered or left an office, as this client heard it last while it was connected."""
        self.requests: list[Asked] = []

    # ---------------------------------------------------------------------------------------------------------- actions

    def arrive(self, office: str) -> None:
        """Join an office; connect first if necessary. It comes back by itself when it is disconnected."""
        self.goal = office
        if self.sid is not None:
            self.join(office)
        elif self.node is None and self.cluster.nodes:
            self.node = node = self.cluster.random.choice(self.cluster.nodes)
            self._after_delay(lambda: node.connected(self))

    def _come_back(self) -> None:
        goal = self.goal
        if goal is None:
            return

        def arrive() -> None:
            if self.goal == goal:
                self.arrive(goal)

        self.cluster.scheduler.after(self.cluster.random.choice((0.01, 0.3, 2.0)), arrive)

    def join(self, office: str) -> None:
        if self.sid is None or self.wanted is not None:
            return
        left, self.wanted = self.office, office
        self.cluster.places[self.name].add(office)
        self.maybe = {left, office}
        if left != office:
            self.heard = {}
        if left != office:
            self.office, self.view = None, None

        def joined(ack: Any) -> None:
            self.wanted, self.maybe = None, set()
            if ack[0] is True:
                self.office = office
                self._look()
            elif left is not None:
                self.office = left
                self._look()

        self._request(smcp.JOIN_OFFICE_EVENT, {"office_id": office, "name": self.name, "role": self.role}, joined, 40)

    def leave(self) -> None:
        self.goal = None
        if self.office is None or self.wanted is not None:
            return
        office = self.wanted = self.office
        self.maybe = {office}
        self.office = self.view = None

        def left(ack: Any) -> None:
            self.wanted, self.maybe = None, set()
            if ack[0] is not True:
                self.office = office

        self._request(smcp.LEAVE_OFFICE_EVENT, {"office_id": office}, left, 40)

    def call(self, computer: str, seconds: int) -> None:
        if self.office is None:
            return
        number = self.cluster.next_request()
        self.cluster.called_in[number] = self.office
        data: dict[str, Any] = {"agent": self.name, "computer": computer, "req_id": number, "timeout": seconds}
        data |= {"tool_name": "t", "params": {}}
        self._request(smcp.TOOL_CALL_EVENT, data, lambda _: None, seconds + LIMITS.timeout_grace + 3)

    def update(self) -> None:
        if self.office is not None and self.role == "computer":
            self._request(smcp.UPDATE_TOOL_LIST_EVENT, {"computer": self.name}, lambda _: None, 10)
            progress = {"computer": self.name, "req_id": "1", "progress": 1}
            self._request(smcp.TOOL_CALL_PROGRESS_EVENT, progress, lambda _: None, 10)

    def cancel(self) -> None:
        running = [asked for asked in self.requests if asked.event == smcp.TOOL_CALL_EVENT and not asked.answers]
        if self.office is not None and running:
            self._request(
                smcp.CANCEL_TOOL_CALL_EVENT, {"agent": self.name, "req_id": running[-1].data["req_id"]},
                lambda _: None, 10,
            )  # fmt: skip

    def disconnect(self) -> None:
        node, sid = self.node, self.sid
        self.goal = None
        if node is None or sid is None:
            return
        self.on_disconnected()
        self.cluster.scheduler.after(self.cluster.delay(), lambda: node.disconnected(sid), node)

    def _look(self) -> None:
        if self.role == "agent":
            data = {"agent": self.name, "office_id": self.office, "req_id": self.cluster.next_request()}
            self._request(smcp.LIST_ROOM_EVENT, data, self._looked, 10)

    def _looked(self, ack: Any) -> None:
        if "sessions" in ack:
            self.view = {session["name"] for session in ack["sessions"]}

    def _request(self, event: str, data: dict[str, Any], on_ack: Callable[[Any], None], bound: float) -> None:
        node, sid = self.node, self.sid
        assert node is not None
        assert sid is not None
        asked = Asked(event, data, self.cluster.scheduler.now, bound)
        self.requests.append(asked)

        def answered(ack: Any) -> None:
            asked.answers.append(ack)
            if len(asked.answers) > 1:
                self.cluster.fail(f"{event} {data} was answered twice: {asked.answers}")
            if self.cluster.scheduler.now - asked.sent > bound + (self.cluster.longest_pause if node.was_paused else 0):
                self.cluster.fail(f"{event} {data} was answered after {self.cluster.scheduler.now - asked.sent:.1f} s")
            on_ack(ack)

        self._after_delay(lambda: node.sent(sid, event, data, answered))

    def _after_delay(self, act: Callable[[], None]) -> None:
        # In the order of sending: a client has one connection.
        self.sending = max(getattr(self, "sending", 0.0), self.cluster.scheduler.now + self.cluster.delay())
        self.cluster.scheduler.at(self.sending, act, self.node)

    # ----------------------------------------------------------------------------------------------------------- events

    def on_connected(self, node: SimNode, sid: str) -> None:
        self.node, self.sid = node, sid
        if self.goal is not None:
            self.join(self.goal)

    def on_rejected(self) -> None:
        self.node = None
        self._come_back()

    def on_lost(self, node: SimNode) -> None:
        if self.node is node:
            self.on_disconnected()

    def on_disconnected(self) -> None:
        self.node = self.sid = self.office = self.wanted = self.view = None
        self.maybe = set()
        self.heard = {}
        for asked in self.requests:
            asked.is_void = asked.is_void or not asked.answers
        self._come_back()

    def on_event(self, event: str, data: dict[str, Any]) -> None:
        about = data.get("computer") or data.get("agent") or ""
        # Other notifications name only their sender, which was in the office when it sent them.
        offices = {data["office_id"]} if "office_id" in data else self.cluster.places[about]
        if event != smcp.CANCEL_TOOL_CALL_NOTIFICATION and not offices & (self.maybe | {self.office}):
            self.cluster.fail(f"{self.name} in {self.office} got {event} {data}")
        if event in (smcp.ENTER_OFFICE_NOTIFICATION, smcp.LEAVE_OFFICE_NOTIFICATION):
            self.heard[data["office_id"], about] = event == smcp.ENTER_OFFICE_NOTIFICATION
            if self.view is not None:
                self.view.add(about) if self.heard[data["office_id"], about] else self.view.discard(about)

    def on_call(self, data: dict[str, Any], answer: Callable[[Any], None]) -> None:
        office = self.cluster.called_in[data["req_id"]]
        if office not in self.maybe | {self.office}:
            self.cluster.fail(f"{self.name} in {self.office} got call {data['req_id']} of an Agent in {office}")
        self.cluster.executed[data["req_id"]] += 1
        if self.cluster.executed[data["req_id"]] > 1:
            self.cluster.fail(f"call {data['req_id']} was executed twice")
        if self.cluster.random.random() < 0.8:
            self.cluster.scheduler.after(
                self.cluster.random.choice((0.01, 0.1, 1.0, 5.0)), lambda: answer({"req_id": data["req_id"]})
            )


def make_sim_node(owner: SimNode) -> Node:
    return Node(owner.link, owner, LEASE)


class SimCluster:
    """Everything, under one seed."""

    def __init__(
        self,
        seed: int,
        make_node: Callable[[SimNode], Node] | None = None,
        scripts: Callable[[str], str] = script,
    ) -> None:
        self.random = Random(seed)
        self.scheduler = Scheduler(self.random)
        self.make_node = make_node or make_sim_node
        self.skew = 0.0
        self.is_redis_down = False
        self.redis = RedisModel(lambda: 1_000_000 + self.scheduler.now + self.skew, self._make_id, scripts)
        self.redis.started -= 60
        self.nodes: list[SimNode] = []
        self.clients: dict[int, SimClient] = {}
        self.executed: Counter[str] = Counter()
        self.called_in: dict[str, str] = {}
        """The office of the Agent of each call."""
        self.places: defaultdict[str, set[str]] = defaultdict(set)
        """The offices that clients of a name ever asked for."""
        self.failures: list[str] = []
        self.longest_pause = 0.0
        self._requests = 0

    def _make_id(self) -> str:
        return f"{self.random.getrandbits(32):08x}"

    def next_request(self) -> str:
        self._requests += 1
        return str(self._requests)

    def delay(self) -> float:
        """How long a message takes: most are fast."""
        return self.random.choice((0.0005, 0.001, 0.002, 0.005, 0.02, 0.2 if self.random.random() < 0.05 else 0.001))

    def fail(self, problem: str) -> None:
        self.failures.append(f"at {self.scheduler.now:.3f}: {problem}")

    def add_node(self) -> SimNode:
        node = SimNode(self, self.random.uniform(0.98, 1.02))
        self.nodes.append(node)
        self.scheduler.after(0, node.link.connect, node)
        return node

    def kill(self, node: SimNode) -> None:
        node.link.vanish()
        node.is_dead = True
        self.nodes.remove(node)
        for client in list(self.clients.values()):
            if client.node is node:
                self.scheduler.after(self.delay(), partial(client.on_lost, node))

    def restart_redis(self, seconds: float, *, loses_data: bool) -> None:
        self.is_redis_down = True
        for node in self.nodes:
            node.link.lose()

        def up() -> None:
            self.redis.restart(loses_data=loses_data)
            self.is_redis_down = False

        self.scheduler.after(seconds, up)

    def cut(self, node: SimNode, seconds: float) -> None:
        node.link.is_cut = True
        node.link.lose()
        self.scheduler.after(seconds, lambda: setattr(node.link, "is_cut", False))
