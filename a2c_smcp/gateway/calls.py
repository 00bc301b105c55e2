"""A tool call of a host: its progress, its questions in the form of the host's protocol era, and its result.

A host cancels a call by a notification, by closing the stream of a call, or by going away: each cancels the task that
runs `call`, and with it the call where it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Progress, Question, Reply
from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.gateway.results import shown
from a2c_smcp.protocol.questions import MAX_ROUNDS, Asked, Continuation
from a2c_smcp.utils.results import CallToolResult

CALL_SECONDS = 3600
"""The longest call, unless the Server allows less. Hosts have timeouts of their own, at which they cancel."""
MOST_REPORTS = 100
"""Reports of progress that wait for a host that reads slowly. Of more, the oldest are left out."""

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """The tool to call."""

    computer: str
    tool: str
    arguments: Mapping[str, Any]
    principal: str | None
    """The user that the host acts for."""
    names_server: bool
    """Whether questions say which MCP server on which Computer asks."""


async def call(
    ctx: Context, agent: AsyncSMCPAgentClient, target: Target, params: types.CallToolRequestParams
) -> dict[str, Any]:
    """Call a tool for a host.

    Raises:
        SMCPError: the call fails before it reaches the tool, or the Computer is gone.
    """
    continuation = _continuation(params, target)
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    async with _progress(ctx) as on_progress:
        for _ in range(MAX_ROUNDS):
            outcome = await _finished(
                agent.call_tool_once(
                    target.computer,
                    target.tool,
                    target.arguments,
                    min(CALL_SECONDS, agent.server_info.max_tool_timeout or CALL_SECONDS),
                    on_progress=on_progress,
                    continuation=continuation,
                    principal=target.principal,
                )
            )
            if isinstance(outcome, CallToolResult):
                return shown(outcome, is_modern=is_modern)
            askable = {key for key, question in outcome.questions.items() if _can_ask(ctx, question)}
            if is_modern and askable:
                return _input_required(outcome, askable, target)
            try:
                replies = {
                    key: await _ask(ctx, question, target) if key in askable else question.decline()
                    for key, question in outcome.questions.items()
                }
            except BaseException:
                _in_background(agent.cancel_call(outcome))  # no request runs that would be cancelled with its task
                raise
            continuation = outcome.answered(replies)
    raise MalformedRequestError(f"{target.tool} asks more than {MAX_ROUNDS} times in one call")


_tasks: set[asyncio.Task[Any]] = set()
"""The event loop keeps only weak references to tasks."""


def _in_background(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    task = asyncio.create_task(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


async def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a call in a task of its own, so that it can tell the Computer when it is cancelled: MCP's library cancels a
    request of a host again and again, and would interrupt that."""
    task = _in_background(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        raise


# ------------------------------------------------------------------------------------------------------------- progress


@asynccontextmanager
async def _progress(ctx: Context) -> AsyncGenerator[Any]:
    """What takes the progress of a call; None if the host does not want it."""
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        yield None
        return
    # The Agent reports where it reads its connection, and must not wait for a host that reads slowly.
    reports: deque[Progress] = deque(maxlen=MOST_REPORTS)
    news = asyncio.Event()
    is_over = False

    def take(progress: Progress) -> None:
        reports.append(progress)
        news.set()

    async def send() -> None:
        while reports or not is_over:
            if reports:
                report = reports.popleft()
                await ctx.session.report_progress(report.progress, report.total, report.message)
            else:
                news.clear()
                await news.wait()

    sender = asyncio.create_task(send(), name="progress")
    try:
        yield take
        # All reports reach the host before the result.
        is_over = True
        news.set()
        await sender
    finally:
        sender.cancel()


# ------------------------------------------------------------------------------------------------------------ questions


async def _ask(ctx: Context, question: Question, target: Target) -> Reply:
    """Ask the host's user, in the way of protocols before 2026-07-28."""
    try:
        async with asyncio.timeout(question.expires_in or None):
            answer = await ctx.session.send_request(
                types.ElicitRequest(params=_params(question, target)),
                types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
    # No answer in time, an error, or something that is no answer: the person has not decided.
    except (TimeoutError, MCPError, ValidationError):
        return question.cancel()
    return Reply(answer.action, answer.content)


def _can_ask(ctx: Context, question: Question) -> bool:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None:
        return False
    # Before 2026-07-28, the host needs a connection on which requests can reach it.
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and not ctx.session.can_send_request:
        return False
    if question.url is not None:
        return elicitation.url is not None
    # A host that names neither form nor URL means forms: the capability had no parts at first.
    return elicitation.form is not None or elicitation.url is None


def _params(question: Question, target: Target) -> types.ElicitRequestFormParams | types.ElicitRequestURLParams:
    message = question.message
    if target.names_server:
        message = f"{question.mcp_server} on {question.computer} asks: {message}"
    if question.problem is not None:
        message = f"{message}\n\nThe last answer does not fit: {question.problem}"
    if question.url is not None:
        return types.ElicitRequestURLParams(
            message=message, url=question.url, elicitation_id=question.elicitation_id or uuid.uuid4().hex
        )
    return types.ElicitRequestFormParams(message=message, requested_schema=dict(question.schema or {}))


def _input_required(asked: Asked, askable: set[str], target: Target) -> dict[str, Any]:
    """The result that asks a host of 2026-07-28, which calls again with the answers."""
    requests: Any = {
        key: types.ElicitRequest(params=_params(question, target))
        for key, question in asked.questions.items()
        if key in askable
    }
    declined = [key for key in asked.questions if key not in askable]
    # In the clear: the Computer accepts a state once, and only for the same user, tool and arguments.
    state = orjson.dumps([target.computer, target.tool, asked.req_id, asked.request_state, declined]).decode()
    result = types.InputRequiredResult(input_requests=requests, request_state=state)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _continuation(params: types.CallToolRequestParams, target: Target) -> Continuation | None:
    """What continues a call of 2026-07-28.

    Raises:
        MalformedRequestError: the state is not one of this call.
    """
    if params.request_state is None:
        return None
    found: Any = None
    with contextlib.suppress(ValueError):
        found = orjson.loads(params.request_state)
    match found:
        case [str(computer), str(tool), str(req_id), str(state), [*declined]]:
            if (computer, tool) == (target.computer, target.tool):
                responses: Any = {str(key): {"action": "decline"} for key in declined}
                for key, answer in (params.input_responses or {}).items():
                    responses[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
                return Continuation(req_id, state, responses)
        case _:
            pass
    raise MalformedRequestError("requestState: unknown; call the tool again without it")
