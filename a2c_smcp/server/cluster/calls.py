"""Calls between nodes: one message to the node of the Computer, and one back.

A call that waits for another node ends at once when that node is removed, or when either node was disconnected from
Redis: its messages may be lost, and whether the call ran is not known. It is never sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson

from a2c_smcp.errors import InternalError, NotFoundError, SMCPError, from_payload, to_payload
from a2c_smcp.protocol.server_effects import Call, CallLost, Written
from a2c_smcp.server.cluster import messages
from a2c_smcp.server.cluster.link import Link
from a2c_smcp.server.cluster.messages import Message
from a2c_smcp.server.cluster.registry import node_of
from a2c_smcp.server.reply import Reply
from a2c_smcp.wire.packets import read_array, unwrap

if TYPE_CHECKING:
    from a2c_smcp.server.cluster.node import Host, Node

logger = logging.getLogger(__name__)

NESTING = 1_000
"""Levels of an answer that are accepted; the node that received it from the Computer has applied the real limit."""


class NodeCalls:
    """The calls and questions of one node that wait for the answer of another. Safe in threads."""

    def __init__(self, node: Node, host: Host, link: Link) -> None:
        self._node = node
        self._host = host
        self._link = link
        self._numbers = count(1)
        # Each method of it that is called here is one step for all threads: `list` of its values, too.
        self._waiting: dict[int, tuple[str, Reply, Callable[[bytes], Any]]] = {}

    # ----------------------------------------------------------------------------------------------------------- asking

    def call(self, call: Call, text: str, reply: Reply) -> None:
        """Send an event to a member of another node; its ack settles the reply."""
        deadline = round((self._node.redis_time + call.timeout) * 1000)
        office = call.office_id.encode()
        fields = f"{call.caller} {call.target} {deadline} {len(office)}"
        self._send(node_of(call.target), reply, _written, messages.CALL, fields, office + text.encode())

    def question(self, node: str, reply: Reply, *fields: str, body: bytes = b"") -> None:
        """Ask another node; its answer, in bytes, settles the reply."""
        self._send(node, reply, bytes, messages.QUESTION, " ".join((self._node.id, *fields)), body)

    def _send(self, node: str, reply: Reply, read: Callable[[bytes], Any], kind: str, fields: str, body: bytes) -> None:
        if not self._node.is_ready:
            reply.set_exception(InternalError("this Server has no connection to the Server of the Computer"))
            return
        number = next(self._numbers)
        self._waiting[number] = node, reply, read
        # The reply becomes the default of `pop`.
        reply.then(partial(self._waiting.pop, number))
        self._link.publish(node, b"%b %d %b\n%b" % (kind.encode(), number, fields.encode(), body))

    def drop(self, node: str) -> None:
        """End what waits for an answer of a node."""
        lost = [reply for other, reply, _ in list(self._waiting.values()) if other == node]
        for reply in lost:
            reply.set_exception(CallLost("the Server of the Computer was lost: the call may have run"))

    def interrupt(self) -> None:
        """End everything that waits for another node: messages may be lost."""
        for _, reply, _ in list(self._waiting.values()):
            reply.set_exception(CallLost("the connection between two Servers was lost: the call may have run"))

    # -------------------------------------------------------------------------------------------------------- answering

    def receive(self, message: Message) -> None:
        """Act on a message about a call or a question."""
        kind, fields, body = message
        # Comparisons and not patterns, which take longer: this runs for each message. The number of fields is compared,
        # too, because a node of another version may send others.
        if kind == messages.CALL and len(fields) == 5:
            number, caller, target, deadline, length = fields
            seconds = int(deadline) / 1000 - self._node.redis_time
            # After the deadline the caller has its answer, so the call must not start.
            if seconds > 0:
                office_id, text = messages.split(body, int(length))
                call = partial(self._relay, caller, target, office_id, seconds, text)
                self._answer(node_of(caller), number, call, _text)
        elif kind == messages.QUESTION and len(fields) >= 3:
            number, node, subject, *fields = fields
            self._answer(node, number, partial(self._host.question, subject, fields, body), bytes)
        elif kind in (messages.ANSWER, messages.ERROR) and len(fields) == 1:
            waiting = self._waiting.get(int(fields[0]))  # a callback of the reply removes it
            if waiting is None:
                return
            _, reply, read = waiting
            if kind == messages.ANSWER:
                reply.set_result(read(body))
            else:
                reply.set_exception(from_payload(orjson.loads(body)) or InternalError())
        else:
            logger.warning("a message of another node cannot be understood: %r", kind)

    def _relay(self, caller: str, target: str, office_id: str, seconds: float, text: str) -> Reply:
        member = self._node.registry.member(target)
        # It may have left or moved while the message was on its way.
        if member is None or member.office_id != office_id:
            raise NotFoundError("the Computer is not in this office any more")
        return self._host.call(caller, target, seconds, text)

    def _answer(self, node: str, number: str, ask: Callable[[], Reply], write: Callable[[Any], bytes]) -> None:
        def answered(reply: Reply) -> None:
            try:
                answer = messages.write(messages.ANSWER, number, body=write(reply.result()))
            except SMCPError as error:
                answer = _failure(number, error)
            except Exception:
                logger.exception("a call of another node failed")
                answer = _failure(number, InternalError())
            self._link.publish(node, answer)

        try:
            reply = ask()
        except SMCPError as error:
            self._link.publish(node, _failure(number, error))
        # For example, a node of another version sends other fields. This must not end the connection to Redis.
        except Exception:
            logger.exception("a message of another node failed")
            self._link.publish(node, _failure(number, InternalError()))
        else:
            reply.then(answered)


def _failure(number: str, error: SMCPError) -> bytes:
    return messages.write(messages.ERROR, number, body=orjson.dumps(to_payload(error)))


def _text(ack: Written) -> bytes:
    return ack.text.encode()


def _written(body: bytes) -> Written:
    text = body.decode()
    return Written(unwrap(read_array(text, NESTING) or []), text)
