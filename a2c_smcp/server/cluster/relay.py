"""Long-polling behind a proxy that sends each request to any node: that node passes it on to the session's node.

A POST is one question to the session's node, answered when the hub has acted on it. A poll is two if there is nothing
to fetch yet. The first waits, and its answer says only that there are packets now. The second fetches them, and the
node sends it only if its client has not hung up. So packets stay on the session's node while a poll waits, however
long that takes, and no message has to end the wait of a client that hung up.

A packet is handed out at most once, because a tool call that came twice would run twice. What can be lost is thus an
answer whose client hangs up in the instant between the fetch and the response, or a node that ends in that instant. An
HTTP response that breaks loses its packets too, with one Server as with several. Clients treat both as the end of the
session, and connect again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.server_effects import CallLost
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.asgi_client import AsgiClient
from a2c_smcp.server.asgi_requests import Receive, hung_up, read_body
from a2c_smcp.server.cluster import messages
from a2c_smcp.server.cluster.messages import Message
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.registry import SID, node_of
from a2c_smcp.server.http import (
    NOT_THIS_WAY,
    TOO_LARGE,
    TOO_SLOW,
    UNKNOWN_SESSION,
    Request,
    Response,
    announced_size,
    read_query,
)
from a2c_smcp.server.reply import Reply
from a2c_smcp.wire.session import NOOP

MOST = 1_000_000
"""Characters in an answer to another node's poll, unless one packet has more. Redis disconnects a node for which more
than 32 MB wait, and an answer can have 40 MB otherwise."""
_POLL, _POST, _LIMIT, _UNREAD = "poll", "post", "limit", "unread"
"""Subjects of questions. The first field of each is the id of a session."""
_RESPONSE, _READY, _BYTES = "response", "ready", "bytes"
"""Kinds of answers: status and content type of a response; the number of a poll that has packets to fetch; how many
bytes a body can have."""
_REFUSALS = {response.status: response for response in (TOO_LARGE, TOO_SLOW)}


class Relay:
    """Passes requests on to the nodes of their sessions, and answers those of other nodes."""

    def __init__(self, node: Node, hub: AsyncHub) -> None:
        self._node = node
        self._hub = hub
        self._waiting: set[Reply] = set()
        """The polls that wait at other nodes."""
        self.answers: dict[str, Callable[[list[str], bytes], Reply]] = {
            subject: partial(self._answer, act)
            for subject, act in (
                (_POLL, self._answer_poll),
                (_POST, self._answer_post),
                (_LIMIT, self._answer_limit),
                (_UNREAD, self._answer_unread),
            )
        }
        """What answers the questions of other nodes, by subject."""

    # ----------------------------------------------------------------------------------------------------------- asking

    async def serve(self, request: Request, receive: Receive) -> Response | None:
        """The response to a request whose session is not on this node; None if the client hung up."""
        wanted = read_query(request.query)
        sid = "" if isinstance(wanted, Response) else wanted.sid or ""
        if SID.fullmatch(sid) is None or node_of(sid) == self._node.id:
            return UNKNOWN_SESSION
        # A WebSocket would have to be on the session's node. Clients that are denied an upgrade go on polling.
        if request.is_websocket:
            return NOT_THIS_WAY
        try:
            return await (self._post(sid, request, receive) if request.method == "POST" else self._poll(sid, receive))
        # The node is gone, or the answer is lost. Either way the client has to open another session.
        except SMCPError:
            return UNKNOWN_SESSION

    async def _poll(self, sid: str, receive: Receive) -> Response | None:
        gone = asyncio.ensure_future(hung_up(receive))
        number: list[str] = []
        try:
            while True:
                reply = self._ask(sid, _POLL, *number)
                self._waiting.add(reply)
                try:
                    await self._settled(reply, gone)
                finally:
                    self._waiting.discard(reply)
                if not reply.done():
                    reply.set_exception(CallLost("the client hung up"))
                    return None
                answer = messages.read(reply.result())
                if answer.kind == _RESPONSE:
                    return _read_response(answer)
                if gone.done():
                    return None
                number = answer.fields
        finally:
            gone.cancel()

    async def _post(self, sid: str, request: Request, receive: Receive) -> Response:
        # A body that a client without a credential may send is read at once. Before a larger one, the session's node
        # has to agree: anyone can invent a session and send a large body.
        most = self._hub.wire_limits.outside_bytes
        size = announced_size(request.headers)
        if size is None or size > most:
            answer = messages.read(await self._answered(sid, _LIMIT))
            if answer.kind == _RESPONSE:
                return _read_response(answer)
            most = int(answer.fields[0])
        body = await read_body(request.headers, most, self._hub.limits.body_timeout, receive)
        if isinstance(body, Response):
            question = self._answered(sid, _UNREAD, str(body.status.value))
        else:
            question = self._answered(sid, _POST, body=body)
        return _read_response(messages.read(await question))

    async def _answered(self, sid: str, subject: str, *fields: str, body: bytes = b"") -> bytes:
        reply = self._ask(sid, subject, *fields, body=body)
        await self._settled(reply)
        return reply.result()

    def _ask(self, sid: str, subject: str, *fields: str, body: bytes = b"") -> Reply:
        node, reply = node_of(sid), Reply()

        def check(known: Reply) -> None:
            if known.has_failed or known.result() is None:
                reply.set_exception(CallLost(f"there is no node {node}"))

        # A message to a node that does not exist is lost silently. If the node is removed after this, `reply` fails.
        self._node.read("ZSCORE", "nodes", node).then(check)
        self._node.calls.question(node, reply, subject, sid, *fields, body=body)
        return reply

    async def _settled(self, reply: Reply, gone: asyncio.Future[None] | None = None) -> None:
        """Wait until a question is answered, or until the client is gone."""
        # The session's node answers a poll with a ping at the latest. A node that does not is stuck.
        limits = self._hub.wire_limits
        bound = limits.ping_interval + limits.ping_timeout / 2
        stop = self._hub.set_timer(bound, lambda: reply.set_exception(CallLost("no answer")))
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reply.then(lambda _: answered.set_result(None))
        try:
            await asyncio.wait({answered, gone or answered}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop()

    def release(self) -> None:
        """Answer the polls that wait, because this node stops: their clients then poll through another."""
        for reply in list(self._waiting):
            reply.set_result(_write_response(Response(body=NOOP.encode())))

    # -------------------------------------------------------------------------------------------------------- answering

    def _answer(self, act: Callable[..., Reply], fields: list[str], body: bytes) -> Reply:
        sid, *rest = fields
        client = self._hub.polling(sid)
        return Reply.of(_write_response(client)) if isinstance(client, Response) else act(client, rest, body)

    def _answer_poll(self, client: AsgiClient, fields: list[str], body: bytes) -> Reply:
        number = int(fields[0]) if fields else client.begin_poll()
        waiting = client.expect(number)
        if waiting is None:
            return Reply.of(_write_response(Response(body=client.take(number, MOST).encode("utf-8", "replace"))))
        reply = Reply()
        waiting.add_done_callback(lambda _: reply.set_result(messages.write(_READY, number)))
        return reply

    def _answer_limit(self, client: AsgiClient, fields: list[str], body: bytes) -> Reply:
        return Reply.of(messages.write(_BYTES, client.wire.largest_input))

    def _answer_post(self, client: AsgiClient, fields: list[str], body: bytes) -> Reply:
        return Reply.of(_write_response(self._hub.post(client, body)))

    def _answer_unread(self, client: AsgiClient, fields: list[str], body: bytes) -> Reply:
        return Reply.of(_write_response(self._hub.post(client, _REFUSALS[HTTPStatus(int(fields[0]))])))


def _write_response(response: Response) -> bytes:
    return messages.write(_RESPONSE, response.status.value, response.content_type, body=response.body)


def _read_response(answer: Message) -> Response:
    status, *content_type = answer.fields
    return Response(HTTPStatus(int(status)), answer.body, " ".join(content_type))
