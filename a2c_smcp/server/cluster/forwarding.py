"""HTTP requests of which another node has to give the answer: those of MCP hosts whose office another node serves.

A request is one question to the other node. Its answer has the head of the response and what there is of the body; each
further question fetches the next part, waits for it if there is none, and says with it that the client is still there.
So the client's speed decides how fast the other node may send, and no node keeps a response that nobody fetches.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeAlias

import orjson

from a2c_smcp.errors import NotFoundError
from a2c_smcp.protocol.server_effects import CallLost
from a2c_smcp.server.asgi import Receive, Scope, Send
from a2c_smcp.server.cluster import messages
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.registry import node_of
from a2c_smcp.server.reply import Reply

logger = logging.getLogger(__name__)

FORWARDED = "a2c.forwarded"
"""Key in the scope of a request that another node forwarded."""
MOST = 1_000_000
"""Bytes of one part; see `relay.MOST`."""
WAIT_SECONDS = 10.0
"""How long a question waits for the next part. Its answer is empty then."""
LOST_SECONDS = 20.0
"""Seconds without an answer, or without the next question, after which the other node is taken for lost."""
_OPEN, _NEXT, _END = "http", "http-next", "http-end"
"""Subjects of questions. The first field of each is the id of the request."""
_PART = "part"
"""The kind of an answer: whether it is the last one, and the length of the head."""
_NODE = re.compile(r"n[0-9a-f]{10}")
_COPIED = ("method", "path", "root_path", "scheme", "http_version")

App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class Forwarding:
    """Passes requests on to other nodes, and answers theirs."""

    def __init__(self, node: Node, app: App) -> None:
        self._node = node
        self._app = app
        self._numbers = count(1)
        self._served: dict[str, _Served] = {}
        self.answers: dict[str, Callable[[list[str], bytes], Reply]] = {
            _OPEN: self._answer_open,
            _NEXT: self._answer_next,
            _END: self._answer_end,
        }
        """What answers the questions of other nodes, by subject."""

    # ----------------------------------------------------------------------------------------------------------- asking

    @property
    def own(self) -> str:
        """The id of this node."""
        return self._node.id

    async def agent_of(self, office_id: str) -> tuple[str, str] | None:
        """The name and the node of the Agent of an office.

        Raises:
            InternalError: this node has no connection to its cluster.
        """
        agent = (await self._node.registry.office(office_id, "")).agent
        return (agent.name, node_of(agent.sid)) if agent is not None else None

    async def forward(self, node: str, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have another node serve a request.

        Raises:
            NotFoundError: there is no such node.
            SMCPError: the node did not answer, and may have executed the request.
        """
        # Before anything is sent: a message to a node that does not exist is lost silently.
        if _NODE.fullmatch(node) is None or await self._node.read("ZSCORE", "nodes", node) is None:
            raise NotFoundError(f"there is no node {node}")
        request, head = f"{self._node.id}.{next(self._numbers)}", _write_head(scope)
        gone = asyncio.ensure_future(_hung_up(receive))
        is_over = False
        try:
            question = self._ask(node, _OPEN, request, str(len(head)), body=head + body)
            while True:
                await _settled(question, gone)
                if not question.done():
                    return
                part = messages.read(question.result())
                length = int(part.fields[1])
                if length:
                    await send({"type": "http.response.start", **_read_response(part.body[:length])})
                is_over = part.fields[0] == "1"
                if part.body[length:] or is_over:
                    data = part.body[length:]
                    await send({"type": "http.response.body", "body": data, "more_body": not is_over})
                if is_over:
                    return
                question = self._ask(node, _NEXT, request)
        finally:
            gone.cancel()
            if not is_over:
                self._ask(node, _END, request)

    def _ask(self, node: str, *fields: str, body: bytes = b"") -> Reply:
        reply = Reply()
        self._node.calls.question(node, reply, *fields, body=body)
        return reply

    # -------------------------------------------------------------------------------------------------------- answering

    def _answer_open(self, fields: list[str], body: bytes) -> Reply:
        request, length = fields[0], int(fields[1])
        served = _Served(_read_scope(body[:length]), body[length:], lambda: self._served.pop(request, None))
        self._served[request] = served
        served.start(self._app)
        return served.next()

    def _answer_next(self, fields: list[str], body: bytes) -> Reply:
        served = self._served.get(fields[0])
        if served is None:
            raise NotFoundError("the request has ended")
        return served.next()

    def _answer_end(self, fields: list[str], body: bytes) -> Reply:
        served = self._served.get(fields[0])
        if served is not None:
            served.hang_up()
        return Reply.of(b"")

    async def aclose(self) -> None:
        """End the requests of other nodes."""
        await asyncio.gather(*(served.end() for served in list(self._served.values())), return_exceptions=True)


class _Served:
    """A request of another node that this one serves."""

    def __init__(self, scope: Scope, body: bytes, forget: Callable[[], object]) -> None:
        self._scope = scope
        self._body: bytes | None = body
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._head = b""
        self._output = bytearray()
        self._is_over = False
        self._question: Reply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._taken = asyncio.Event()
        self._gone = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, app: App) -> None:
        """Serve it."""
        self._task = asyncio.create_task(self._serve(app), name="serve a request of another node")

    async def _serve(self, app: App) -> None:
        try:
            await app(self._scope, self._receive, self._send)
        except Exception:
            logger.exception("a request of another node failed")
        finally:
            self._is_over = True
            self._loop.call_soon(self._give)

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._head = _write_response(message)
        else:
            self._output += message.get("body", b"")
            self._is_over = not message.get("more_body", False)
        # In the next turn of the loop: what follows at once, such as the body after the head, is in the same part.
        self._loop.call_soon(self._give)
        while len(self._output) > MOST and not self._gone.is_set():
            self._taken.clear()
            await self._taken.wait()

    def next(self) -> Reply:
        """The next part, as soon as there is one."""
        self._question = Reply()
        question = self._question
        self._set_timer(WAIT_SECONDS, lambda: self._give(is_late=True))
        self._give()
        return question

    def _give(self, *, is_late: bool = False) -> None:
        question = self._question
        if question is None or not (self._head or self._output or self._is_over or is_late):
            return
        self._question = None
        data = bytes(self._output[:MOST])
        del self._output[:MOST]
        self._taken.set()
        is_last = self._is_over and not self._output
        head, self._head = self._head, b""
        question.set_result(messages.write(_PART, int(is_last), len(head), body=head + data))
        if is_last:
            self._set_timer(0, None)
            self._forget()
        else:
            self._set_timer(LOST_SECONDS, self.hang_up)

    def hang_up(self) -> None:
        """The client is gone, or its node is."""
        self._set_timer(0, None)
        self._gone.set()
        self._taken.set()
        self._forget()
        if self._question is not None:
            self._question.set_exception(CallLost("the client hung up"))

    async def end(self) -> None:
        """This node stops."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _set_timer(self, seconds: float, callback: Callable[[], None] | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, callback) if callback is not None else None


async def _settled(reply: Reply, gone: asyncio.Future[None]) -> None:
    """Wait until a question is answered, or until the client is gone."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[None] = loop.create_future()
    reply.then(lambda _: None if answered.done() else answered.set_result(None))
    timer = loop.call_later(LOST_SECONDS, lambda: reply.set_exception(CallLost("no answer")))
    try:
        await asyncio.wait({answered, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _write_head(scope: Scope) -> bytes:
    fields = {name: scope.get(name) for name in _COPIED}
    return orjson.dumps(
        {
            **fields,
            "raw_path": _text(scope.get("raw_path") or b""),
            "query_string": _text(scope.get("query_string") or b""),
            "headers": [[_text(key), _text(value)] for key, value in scope["headers"]],
            "client": list(scope["client"]) if scope.get("client") else None,
        }
    )


def _read_scope(head: bytes) -> Scope:
    fields: dict[str, Any] = orjson.loads(head)
    client = fields["client"]
    return {
        **fields,
        "type": "http",
        FORWARDED: True,
        "raw_path": _bytes(fields["raw_path"]) or None,
        "query_string": _bytes(fields["query_string"]),
        "headers": _read_headers(fields["headers"]),
        "client": tuple(client) if client is not None else None,
    }


def _write_response(message: Any) -> bytes:
    headers = [[_text(key), _text(value)] for key, value in message.get("headers", ())]
    return orjson.dumps([message["status"], headers])


def _read_response(head: bytes) -> dict[str, Any]:
    status, headers = orjson.loads(head)
    return {"status": status, "headers": _read_headers(headers)}


def _read_headers(headers: list[list[str]]) -> list[tuple[bytes, bytes]]:
    return [(_bytes(key), _bytes(value)) for key, value in headers]


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _bytes(value: str) -> bytes:
    return value.encode("latin-1")
