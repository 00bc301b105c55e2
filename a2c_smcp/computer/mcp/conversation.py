"""JSON-RPC with one MCP server: each request has a future, and the transport resolves it directly.

It replaces the dispatcher of the `mcp` package under the `mcp` session. That dispatcher passes every message through
streams and tasks, which costs a call more time than the rest of this Computer, and it can take seconds to give up a
call on a server that does not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard, cast

import anyio
import anyio.abc
from mcp.shared.dispatcher import (
    CallOptions,
    DispatchContext,
    Dispatcher,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    coerce_request_id,
    run_notify_intercept,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, REQUEST_TIMEOUT, RequestId
from pydantic import ValidationError

logger = logging.getLogger(__name__)

Message: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[Message, Mapping[str, str] | None], None]
"""Hands a message, with HTTP headers for transports that use them, to the transport. It does not wait: a caller that
asks a question waits for the answer anyway. It raises `ConnectionError` once the connection has ended."""
OnNotice: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Called with the method and the parameters of a notification. Must not wait."""
OnLog: TypeAlias = Callable[[Mapping[str, Any], RequestId | None], None]
"""Called with the parameters of a log message, and our request in answer to which it arrived. Must not wait."""
Ready: TypeAlias = Callable[[], Awaitable[None]]
"""Waits until the transport accepts another question."""
OnProgress: TypeAlias = Callable[[float, float | None, str | None], None]
"""Called with the progress of a question: the amount done, the total, and a text. Must not wait."""

CLOSED = "Connection closed"
MAX_ORDERS = 64
"""Requests of the server that are answered at a time. Further ones get no answer: a server could otherwise make this
Computer hold any number of tasks."""


def is_closed(error: MCPError) -> bool:
    """Whether an error says that the connection has ended. The code alone does not: servers use it for other errors."""
    return error.code == CONNECTION_CLOSED and error.message == CLOSED


def _is_id(value: Any) -> TypeGuard[RequestId]:
    # In Python, `True` is an int that equals 1.
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_number(value: Any) -> TypeGuard[int | float]:
    # JSON allows 1e999, which is infinity in Python, and cannot be written as JSON again.
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(slots=True)
class _Question:
    answer: asyncio.Future[dict[str, Any]]
    on_progress: OnProgress | None
    owner: object


@dataclass(slots=True)
class _Order:
    """A request of the server."""

    task: asyncio.Task[None]
    origin: RequestId | None


class Conversation(Dispatcher[TransportContext]):
    """Both directions of one connection. The transport calls `receive` for each message and `end` once.

    `ready` waits until the transport accepts another question: a server that reads slowly slows down its callers,
    instead of filling the memory of this Computer.
    """

    def __init__(self, send: Send, on_notice: OnNotice, ready: Ready | None = None) -> None:
        self._send = send
        self._ready = ready
        self._on_notice = on_notice
        self.on_log: OnLog | None = None
        """Gets log messages besides `on_notice`."""
        self._questions: dict[RequestId, _Question] = {}
        self._orders: dict[RequestId, _Order] = {}
        self._number = 0
        self.heard_at = time.monotonic()
        """When the server last sent a message, on the clock of `time.monotonic`."""
        self._ended = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        self._on_request: OnRequest | None = None
        self._intercept: OnNotifyIntercept | None = None

    # -------------------------------------------------------------------------------------------- called by the session

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Answer the server until the connection ends. Notifications go to `on_notice`, not to `on_notify`."""
        # Notifications bypass `on_notify`, which would start a task for each. The order of notifications and answers
        # matters: a server that announces a change and then answers a read has read the new content.
        self._on_request, self._intercept = on_request, on_notify_intercept
        async with asyncio.TaskGroup() as self._tasks:
            try:
                task_status.started()
                await self._ended.wait()
            finally:
                # No request of the server may start a task from here on: a group that is being closed rejects it.
                self._tasks = None
                for order in self._orders.values():
                    order.task.cancel()
                self.end()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the server; the form of `ask` that the session of the `mcp` package calls."""
        return await self.ask(method, params, opts or {})

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: CallOptions,
        on_progress: OnProgress | None = None,
        owner: object = None,
    ) -> dict[str, Any]:
        """Ask the server and wait for its answer. If the caller is cancelled, the server cancels the request, too.

        `owner` is whatever `owner_of` is to find for this request.

        Raises:
            MCPError: the server's error; `REQUEST_TIMEOUT`; `CONNECTION_CLOSED`.
        """
        # The id of the request is also its progress token, so that one table serves answers and progress.
        number = self._next_number(options.get("request_id"))
        key = coerce_request_id(number)
        message: Message = {"jsonrpc": "2.0", "id": number, "method": method}
        if on_progress is not None:
            given = dict(params or {})
            meta: dict[str, Any] = given.get("_meta") or {}
            message["params"] = {**given, "_meta": {**meta, "progressToken": number}}
        elif params:
            message["params"] = params
        seconds = options.get("timeout")
        if self._ready is not None:
            if seconds is None:  # the usual case, without the cost of a timeout: a tool call has its own further up
                await self._ready()
            else:
                seconds = await _wait_for_turn(self._ready, method, seconds)
        # Registered before it is sent: a transport in the same process may deliver the answer during `_send`.
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions[key] = _Question(answer, on_progress, owner)
        try:
            self._hand_over(message, options.get("headers"))
            if seconds is None:
                return await answer
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self._call_off(number, "timed out", options)
            raise MCPError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out") from None
        except asyncio.CancelledError:
            self._call_off(number, "caller cancelled", options)
            raise
        finally:
            self._questions.pop(key, None)
            # An error that arrives in the moment in which the caller is cancelled is never awaited. Reading it here
            # keeps asyncio from logging it as an exception that was never retrieved.
            if answer.done() and not answer.cancelled():
                answer.exception()

    def ask_in_vain(self, method: str, params: Mapping[str, Any], options: CallOptions) -> None:
        """Ask the server without waiting for its answer, which is ignored; once the connection has ended, nothing."""
        message: Message = {"jsonrpc": "2.0", "id": self._next_number(None), "method": method, "params": params}
        with contextlib.suppress(MCPError):
            self._hand_over(message, options.get("headers"))

    def origin_of(self, number: RequestId) -> RequestId | None:
        """Our request during which the server sent its request `number`; None if the transport does not say so."""
        order = self._orders.get(number)
        return order.origin if order is not None else None

    def owner_of(self, number: RequestId) -> object:
        """The owner of our request `number`; None if it has been answered."""
        question = self._find_question(number)
        return question.owner if question is not None else None

    async def wait_ended(self) -> None:
        """Wait until the connection has ended."""
        await self._ended.wait()

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification; once the connection has ended, do nothing."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        try:
            self._hand_over(message, (opts or {}).get("headers"))
        except MCPError:
            logger.debug("%s was not sent: the connection has ended", method)

    # ------------------------------------------------------------------------------------------ called by the transport

    def receive(self, message: Any, origin: RequestId | None = None) -> bool:
        """Take what the server sent; whether it was a message. This never raises, whatever a server sends.

        `origin` is the number of our request that the transport received it in answer to.
        """
        if isinstance(message, list):  # a batch, which 2025-03-26 allowed
            # A list, not a generator: `all` would stop at the first invalid part, and lose the answers after it.
            parts = cast("list[Any]", message)
            return all([isinstance(part, dict) and self.receive(part, origin) for part in parts])
        if not isinstance(message, dict) or cast("Message", message).get("jsonrpc") != "2.0":
            return False
        message = cast("Message", message)
        self.heard_at = time.monotonic()
        method = message.get("method")
        try:
            if isinstance(method, str):
                params: Mapping[str, Any] = message["params"] if isinstance(message.get("params"), dict) else {}
                if "id" in message:
                    self._take_order(message["id"], method, params, origin)
                else:
                    self._take_notice(method, params, origin)
                return True
            if "result" in message or "error" in message:
                self._take_answer(message)
                return True
        except Exception:  # a handler of ours failed; the connection and all other requests go on
            logger.exception("a message of the server could not be handled")
        return False

    def end(self) -> None:
        """The connection has ended: every open question fails."""
        self._ended.set()
        # The exception only wakes the callers. Each removes its question later, in its own task, so the table does not
        # change during this loop.
        for question in self._questions.values():
            if not question.answer.done():
                question.answer.set_exception(MCPError(code=CONNECTION_CLOSED, message=CLOSED))

    # -------------------------------------------------------------------------------------------------------- internals

    def _next_number(self, wanted: RequestId | None) -> RequestId:
        if wanted is not None:
            if coerce_request_id(wanted) in self._questions:
                raise ValueError(f"request id {wanted!r} is already in flight")
            return wanted
        self._number += 1
        while self._number in self._questions:
            self._number += 1
        return self._number

    def _hand_over(self, message: Message, headers: Mapping[str, str] | None) -> None:
        try:
            if self._ended.is_set():
                raise ConnectionResetError
            self._send(message, headers)
        except ConnectionError:
            raise MCPError(code=CONNECTION_CLOSED, message=CLOSED) from None

    def _call_off(self, number: RequestId, reason: str, options: CallOptions) -> None:
        """Tell the server that the answer to a question is not needed."""
        if options.get("cancel_on_abandon", True) and not self._ended.is_set():
            params = {"requestId": number, "reason": reason}
            message: Message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            with contextlib.suppress(MCPError):
                self._hand_over(message, options.get("headers"))

    def _find_question(self, number: Any) -> _Question | None:
        # `coerce_request_id`: some servers echo the id 7 as "7".
        return self._questions.get(coerce_request_id(number)) if _is_id(number) else None

    def _take_answer(self, message: Message) -> None:
        question = self._find_question(message.get("id"))
        if question is None or question.answer.done():
            return  # its caller timed out or was cancelled, or there was no such question
        error = message.get("error")
        if isinstance(error, dict):
            error = cast("Message", error)
            code, words = error.get("code"), error.get("message")
            problem = MCPError(
                code=code if isinstance(code, int) else INTERNAL_ERROR,
                message=words if isinstance(words, str) else "an error without a message",
                data=error.get("data"),
            )
            question.answer.set_exception(problem)
        elif isinstance(result := message.get("result"), dict):
            question.answer.set_result(cast("Message", result))
        else:
            question.answer.set_exception(MCPError(code=INTERNAL_ERROR, message="the server's answer is no object"))

    def _take_notice(self, method: str, params: Mapping[str, Any], origin: RequestId | None) -> None:
        if method == "notifications/progress":
            self._report_progress(params)
        elif method == "notifications/cancelled":
            number = params.get("requestId")
            if _is_id(number) and (order := self._orders.get(number)) is not None:
                order.task.cancel()
        elif method == "notifications/message" and self.on_log is not None:
            self.on_log(params, origin)
        # The session of the library takes the events of its subscriptions here (2026-07-28). All other notifications
        # are ours.
        if not run_notify_intercept(self._intercept, method, params):
            self._on_notice(method, params)

    def _report_progress(self, params: Mapping[str, Any]) -> None:
        progress, total = params.get("progress"), params.get("total")
        question = self._find_question(params.get("progressToken"))
        if question is None or question.on_progress is None or not _is_number(progress):
            return
        whole = float(total) if _is_number(total) else None
        words = params.get("message")
        question.on_progress(float(progress), whole, words if isinstance(words, str) else None)

    def _take_order(self, number: Any, method: str, params: Mapping[str, Any], origin: RequestId | None) -> None:
        """The server asks something; a task of our own answers it."""
        # The task is asyncio's, not anyio's. `receive` runs in a callback of the event loop when the transport is a
        # child process, and anyio starts tasks only from inside another task.
        # A number that is in use gets no second task: the table would hold one for both, and so any number of them.
        is_free = _is_id(number) and number not in self._orders and len(self._orders) < MAX_ORDERS
        if self._tasks is not None and is_free:
            task = self._tasks.create_task(self._answer(number, method, params))
            self._orders[number] = _Order(task, origin)
            task.add_done_callback(lambda _: self._orders.pop(number, None))

    async def _answer(self, number: RequestId, method: str, params: Mapping[str, Any]) -> None:
        reply: Message = {"jsonrpc": "2.0", "id": number}
        try:
            assert self._on_request is not None
            reply["result"] = await self._on_request(_Context(self, number), method, params)
        except MCPError as error:
            reply["error"] = error.error.model_dump(mode="json", exclude_none=True)
        except ValidationError:
            reply["error"] = {"code": INVALID_PARAMS, "message": "Invalid request parameters"}
        except Exception as error:
            logger.exception("answering %s failed", method)
            reply["error"] = {"code": INTERNAL_ERROR, "message": type(error).__name__}
        with contextlib.suppress(MCPError):  # the connection has ended
            self._hand_over(reply, None)


@dataclass
class _Context(DispatchContext[TransportContext]):
    """What the session of the `mcp` package may use while it answers a request of the server."""

    _conversation: Conversation
    _number: RequestId
    # Required by the library, and never set: a request that the server cancels ends with its task.
    _cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    @property
    def transport(self) -> TransportContext:
        return TransportContext(kind="jsonrpc", can_send_request=True)

    @property
    def can_send_request(self) -> bool:
        return True

    @property
    def request_id(self) -> RequestId | None:
        return self._number

    @property
    def message_metadata(self) -> MessageMetadata:
        return None

    @property
    def cancel_requested(self) -> anyio.Event:
        return self._cancel_requested

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        return await self._conversation.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._conversation.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Do nothing: this Computer reports no progress to a server."""


async def _wait_for_turn(ready: Ready, method: str, seconds: float) -> float:
    """Wait until the transport accepts a question; returns the seconds that remain for its answer.

    Raises:
        MCPError: `REQUEST_TIMEOUT`; nothing was sent to the server.
    """
    started = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            await ready()
    except TimeoutError:
        raise MCPError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out") from None
    return max(seconds - (time.monotonic() - started), 0.0)
