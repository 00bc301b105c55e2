"""A node: one Server process of a cluster, from its first connection to Redis until it stops.

A node serves offices only while it has a lease. It extends the lease with every beat. If it cannot, it stops before
the lease ends, because then other nodes free the seats of its members: there are never two Agents in one office. A
node whose lease ended disconnects all its clients, and starts again under another name.

Redis may restart, lose its last changes, or lose everything. A node that connects again within its lease writes its
seats again, and no node gives a seat to a newcomer until all have had the time to do so.
"""

from __future__ import annotations

import logging
import threading
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

from a2c_smcp import smcp
from a2c_smcp.errors import InternalError
from a2c_smcp.protocol.office import Member
from a2c_smcp.server.cluster import messages
from a2c_smcp.server.cluster.calls import NodeCalls
from a2c_smcp.server.cluster.link import Link
from a2c_smcp.server.cluster.messages import Message
from a2c_smcp.server.cluster.registry import AWAY, ClusterRegistry
from a2c_smcp.server.reply import Reply
from a2c_smcp.server.setting_definitions import SettingDefinitions

logger = logging.getLogger(__name__)

LEASE = SettingDefinitions.lease
"""Seconds without a beat after which the other nodes remove a node."""
_BEAT = 0.2
"""Between beats, as a part of the lease."""
_FENCE = 0.75
"""The part of the lease after which the node stops by itself. The rest allows for clocks of different speeds."""
_PATIENCE = 0.4
"""The part of the lease after which a beat that is not answered ends the connection to Redis."""
_WAIT = 0.2
"""The part of the lease that a request waits for a connection to Redis, which usually is back in a moment."""
_BATCH = 500
"""Seats that one script frees or writes: Redis does nothing else meanwhile."""
_UPDATES = (
    smcp.UPDATE_CONFIG_NOTIFICATION,
    smcp.UPDATE_TOOL_LIST_NOTIFICATION,
    smcp.UPDATE_DESKTOP_NOTIFICATION,
    smcp.UPDATE_FINDER_NOTIFICATION,
)


class Host(Protocol):
    """What a node needs of the Server that it is part of."""

    def now(self) -> float:
        """The time in seconds, on a clock that also counts while the process or the machine is suspended."""
        ...

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""
        ...

    def token_bytes(self, count: int) -> bytes:
        """Random bytes that cannot be guessed."""
        ...

    def tell(self, to: str, event: str, data: Any, skip: str | None = None) -> None:
        """Send an event to the members of an office on this node, without one of them, or to one of them."""
        ...

    def tell_text(self, to: str, text: str) -> None:
        """Send an event, written as a JSON array, likewise."""
        ...

    def show_out(self, sid: str) -> None:
        """Disconnect a client of this node."""
        ...

    def close_all(self) -> None:
        """Disconnect every client of this node."""
        ...

    def call(self, caller: str, target: str, seconds: float, text: str) -> Reply:
        """Relay a call of another node's member to a member of this node.

        Raises:
            SMCPError: it cannot be relayed.
        """
        ...

    def question(self, subject: str, fields: list[str], body: bytes) -> Reply:
        """Answer a question of another node, with bytes."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The numbers of a whole cluster."""

    nodes: int = 0
    offices: int = 0
    agents: int = 0
    computers: int = 0


class OtherNode(NamedTuple):
    """Another node, as this one sees it."""

    end: str
    """The end of its lease on Redis's clock, which changes whenever it extends its lease."""
    since: float
    """When this node first saw that end, on its own clock."""
    lease: float


class Node:
    """One Server process of a cluster. The link calls its `on_` methods. Safe in threads."""

    def __init__(self, link: Link, host: Host, lease: float = LEASE) -> None:
        self._link = link
        self._host = host
        self._lease = lease
        self.id = self._new_id()
        self.registry = ClusterRegistry(self)
        self.calls = NodeCalls(self, host, link)
        self.size = ClusterSize()
        self.first_ready = Reply()
        """Settled when the node is ready for the first time."""
        self._is_enlisted = False
        self._is_linked = False
        """Whether Redis knows everything that this node knows, and commands can be sent."""
        self._serving_until = float("-inf")
        self._offset = 0.0
        """Redis's clock minus this node's, in seconds."""
        self._others: dict[str, OtherNode] = {}
        self._run: tuple[str, float] = ("", 0.0)
        """The Redis that this node is connected to, and since when it knows it."""
        self._beaten: float | None = None
        """When the beat was sent that is not answered yet."""
        self._queue: deque[tuple[Callable[[], Reply], Reply]] = deque()
        self._stop_timers: list[Callable[[], None]] = []
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------------------------------------ state

    @property
    def is_serving(self) -> bool:
        """Whether the node may act for its members."""
        # Compared with the clock at every use. A process that was suspended must not act before its timers fire.
        return self._host.now() < self._serving_until

    @property
    def is_ready(self) -> bool:
        """Whether the node serves and is connected to Redis."""
        return self._is_linked and self.is_serving

    @property
    def redis_time(self) -> float:
        """The time on Redis's clock, which all nodes share."""
        return self._host.now() + self._offset

    def new_sid(self) -> str:
        """An id for a connection or a session, from which every node knows whose it is."""
        return f"{self.id}.{urlsafe_b64encode(self._host.token_bytes(15)).decode()}"

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function later; the returned function cancels that."""
        return self._host.set_timer(seconds, callback)

    def _new_id(self) -> str:
        # Without a dot, which ends the name of the node in a sid.
        return "n" + self._host.token_bytes(5).hex()

    # --------------------------------------------------------------------------------------------------------- commands

    def ask(self, script: str, *arguments: str | int) -> Reply:
        """Run a script when the node is connected; the reply fails if that takes too long."""
        return self._when_linked(lambda: self._link.run(script, self.id, *arguments))

    def ask_patiently(self, script: str, *arguments: str | int) -> None:
        """Run a script when the node is connected, however long that takes, unless the node is fenced before."""
        self._when_linked(lambda: self._link.run(script, self.id, *arguments), is_patient=True)

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        """Run a command that reads one table, likewise."""
        return self._when_linked(lambda: self._link.read(command, table, *arguments))

    def _when_linked(self, send: Callable[[], Reply], *, is_patient: bool = False) -> Reply:
        with self._lock:
            if self._is_linked:
                return send()
            reply = Reply()
            if self.is_serving:
                self._queue.append((send, reply))
                # Not until the lease ends: a client waits for this, and may try another node.
                if not is_patient:
                    self._host.set_timer(self._lease * _WAIT, partial(_fail_away, reply))
                return reply
        _fail_away(reply)
        return reply

    # ------------------------------------------------------------------------------------------- connecting to Redis

    def on_connected(self, run_id: str, uptime: float) -> None:
        """Redis can be reached: enlist, and write the seats of this node again if it had any."""
        if self._is_enlisted and not self.is_serving:
            self._fence("its lease ended while Redis could not be reached")
        again = self._is_enlisted
        self._link.subscribe(self.id)
        sent = self._host.now()
        if self._run[0] != run_id:
            self._run = run_id, sent
        facts = (_ms(self._lease), run_id, _ms(uptime), int(again))
        self._link.run("enlist", self.id, *facts).then(partial(self._enlisted, self.id, sent, facts, again))

    def _enlisted(self, id: str, sent: float, facts: Any, again: bool, reply: Reply) -> None:
        if reply.has_failed or id != self.id or self._has_expired():
            return
        answer = reply.result()
        if answer == "fenced":
            self._fence("the other nodes removed it")
            self.on_connected(facts[1], facts[2] / 1000)
            return
        self._is_enlisted = True
        self._extend(sent, int(answer))
        if again:
            self._restate()
        else:
            self._go_on()

    def _restate(self) -> None:
        """Write the seats of this node to Redis, and read the offices again that it has members in."""
        id = self.id

        def written(reply: Reply) -> None:
            if not reply.has_failed and id == self.id:
                self._go_on()

        def listed(reply: Reply) -> None:
            if reply.has_failed or id != self.id:
                return
            members = self.registry.own_members()
            gone = sorted(set(reply.result()) - {member.sid for member in members})
            for start in range(0, len(gone), _BATCH):
                batch = gone[start : start + _BATCH]
                self._link.run("restate", id, len(batch), *batch)
            for start in range(0, len(members), _BATCH):
                batch = members[start : start + _BATCH]
                seats = [field for member in batch for field in _stated(member)]
                self._link.run("restate", id, 0, *seats).then(self._show_out_losers)
            for office_id in self.registry.offices():
                self._link.run("office", id, office_id).then(partial(self._reread, id, office_id))
            self._link.read("ZCARD", "nodes").then(written)  # answered after all of the above

        self._link.read("HKEYS", f"seats:{id}").then(listed)

    def _show_out_losers(self, reply: Reply) -> None:
        if not reply.has_failed:
            for sid in reply.result():
                logger.warning("disconnecting %s: its seat was given to another member while Redis was away", sid)
                self._host.show_out(sid)

    def _reread(self, id: str, office_id: str, reply: Reply) -> None:
        if reply.has_failed or id != self.id:
            return
        left, came, stayed = self.registry.reload(office_id, reply.result())
        for member in left:
            self.announce(member, is_taken=False)
        for member in came:
            self.announce(member, is_taken=True)
        self._refresh(stayed)

    def _refresh(self, members: list[Member]) -> None:
        """Let members ask again what other nodes' Computers offer: notifications of a change may be lost."""
        for member in members:
            if member.role == "computer":
                for event in _UPDATES:
                    self._host.tell(member.office, event, {"computer": member.name})

    def announce(self, member: Member, *, is_taken: bool) -> None:
        """Tell the members of an office on this node that a member took its seat, or gave it up."""
        event = smcp.ENTER_OFFICE_NOTIFICATION if is_taken else smcp.LEAVE_OFFICE_NOTIFICATION
        self._host.tell(member.office, event, member.to_notice(), skip=member.sid)

    def show_out(self, sid: str) -> None:
        """Disconnect a client of this node, which connects again."""
        self._host.show_out(sid)

    def _go_on(self) -> None:
        with self._lock:
            self._is_linked = True
            waiting, self._queue = self._queue, deque()
        for send, reply in waiting:
            if not reply.done():
                send().then(partial(_pass_on, reply))
        logger.info("node %s is connected to its cluster", self.id)
        self.first_ready.set_result(None)
        self._beat()

    def on_lost(self) -> None:
        """Redis cannot be reached. This node goes on until its lease ends."""
        with self._lock:
            was_linked, self._is_linked = self._is_linked, False
            self._beaten = None
            self._cancel_timers()
            if self._is_enlisted:
                self._set(max(0.0, self._serving_until - self._host.now()), self._expire)
        if was_linked:
            logger.warning("node %s lost its connection to Redis; members of other nodes cannot be reached", self.id)
        self.calls.interrupt()

    # ------------------------------------------------------------------------------------------------------------ lease

    def _beat(self) -> None:
        with self._lock:
            if not self._is_linked:
                return
            sent = self._beaten = self._host.now()
            self._cancel_timers()
            self._set(self._lease * _PATIENCE, self._lose_patience)
            self._set(max(0.0, self._serving_until - sent), self._expire)
        id = self.id
        expired = [(node, other.end) for node, other in self._others.items() if sent - other.since >= other.lease]
        run_id, since = self._run
        # Nodes that lost their connection when this Redis started have given up by now, or have written their seats.
        known = run_id if sent - since >= self._lease else ""
        reply = self._link.run("beat", id, _ms(self._lease), _BATCH, known, *chain.from_iterable(expired))
        reply.then(partial(self._beat_answered, id, sent))

    def _beat_answered(self, id: str, sent: float, reply: Reply) -> None:
        if reply.has_failed or id != self.id or self._has_expired():
            return
        answer = reply.result()
        if answer == "fenced":
            self._start_again("the other nodes removed it")
            return
        time, more, *sizes = map(int, answer[:6])
        self._look_at_others(answer[6::3], answer[7::3], answer[8::3])
        self.size = ClusterSize(*sizes)
        self._extend(sent, time)
        with self._lock:
            self._beaten = None
            self._cancel_timers()
            self._set(0.0 if more else self._lease * _BEAT, self._beat)
            self._set(max(0.0, self._serving_until - self._host.now()), self._expire)

    def _look_at_others(self, nodes: list[str], ends: list[str], leases: list[str]) -> None:
        """Note since when each other node has not extended its lease."""
        before, now = self._others, self._host.now()
        self._others = {
            node: known if (known := before.get(node)) and known.end == end else OtherNode(end, now, int(lease) / 1000)
            for node, end, lease in zip(nodes, ends, leases, strict=True)
        }

    def _extend(self, sent: float, redis_ms: int) -> None:
        # From the time it was sent: Redis counts the lease from when it got the command, which is later.
        self._serving_until = max(self._serving_until, sent + self._lease * _FENCE)
        self._offset = redis_ms / 1000 - self._host.now()

    def _lose_patience(self) -> None:
        if self._beaten is not None:
            logger.warning("Redis does not answer: connecting again")
            self._link.reset()

    def _has_expired(self) -> bool:
        """Whether the lease ended. Then the node starts again, even if Redis would extend the lease: it may have missed
        messages meanwhile."""
        if not self._is_enlisted or self.is_serving:
            return False
        self._start_again("its lease ended")
        return True

    def _expire(self) -> None:
        self._has_expired()

    def _start_again(self, reason: str) -> None:
        self._fence(reason)
        self._link.reset()

    def _fence(self, reason: str) -> None:
        """Stop acting for the members of this node, which other nodes may have replaced by now."""
        logger.error("node %s stops serving: %s. Its clients have to connect again", self.id, reason)
        with self._lock:
            self.id = self._new_id()
            self._is_enlisted = self._is_linked = False
            self._serving_until = float("-inf")
            self._others = {}
            self._cancel_timers()
            waiting, self._queue = self._queue, deque()
        self.registry.clear()
        for _, reply in waiting:
            _fail_away(reply)
        self.calls.interrupt()
        self._host.close_all()

    def _set(self, seconds: float, callback: Callable[[], None]) -> None:
        self._stop_timers.append(self._host.set_timer(seconds, callback))

    def _cancel_timers(self) -> None:
        for stop in self._stop_timers:
            stop()
        self._stop_timers = []

    def retire(self) -> Reply:
        """Stop for good: free the seats that are left, and leave the cluster."""
        done = Reply()

        def step(reply: Reply | None) -> None:
            if reply is not None and (reply.has_failed or not reply.result()):
                self._serving_until = float("-inf")
                self._is_enlisted = self._is_linked = False
                self._cancel_timers()
                done.set_result(None)
            else:
                self._link.run("retire", self.id, _BATCH).then(step)

        step(None)
        return done

    # --------------------------------------------------------------------------------------------------------- messages

    def on_message(self, data: bytes) -> None:
        """Act on a message of another node, or of a script that it ran."""
        message = messages.read(data)
        # A node that was suspended reads messages that came meanwhile. What they ask for must not happen any more: the
        # other nodes have removed this one, and answered the calls that waited for it.
        if not self.is_serving and self._has_expired():
            return
        if message.kind in messages.OF_CALLS:  # nearly every message is one of these
            self.calls.receive(message)
            return
        match message.kind:
            case messages.TAKEN | messages.FREED:
                self._change(message)
            case messages.REMOVED:
                self.calls.drop(message.fields[0])
            case messages.INTERRUPTED:
                self.calls.drop(message.fields[0])
                self._refresh(self.registry.members_on(message.fields[0]))
            case messages.TELL:
                self._tell(message)
            case messages.NOTICE:
                self._host.tell_text(*messages.split(message.body, int(message.fields[0])))
            case _:
                logger.warning("a message of another node cannot be understood: %r", message.kind)

    def _tell(self, message: Message) -> None:
        sid, length = message.fields
        office_id, text = messages.split(message.body, int(length))
        member = self.registry.member(sid)
        # The member may have moved to another office while the message was on its way.
        if not office_id or (member is not None and member.office_id == office_id):
            self._host.tell_text(sid, text)

    def _change(self, message: Message) -> None:
        seat = messages.read_change(message)
        is_taken = message.kind == messages.TAKEN
        if self.registry.change(seat, is_taken=is_taken):
            self.announce(seat.member, is_taken=is_taken)


def _stated(member: Member) -> tuple[str, ...]:
    """A member's seat, as the script `restate` reads it."""
    return member.office, member.name, member.sid, member.role, messages.speech_of(member)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _fail_away(reply: Reply) -> None:
    reply.set_exception(InternalError(AWAY))


def _pass_on(to: Reply, reply: Reply) -> None:
    try:
        to.set_result(reply.result())
    except BaseException as error:
        to.set_exception(error)
