"""A tool call of a host: its progress, its questions in the form of the host's protocol era, and its result.

A host cancels a call by a notification, by closing the stream of a call, or by going away: each cancels the task that
runs `call`, and with it the call where it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.agent.calling import OnLog, OnProgress
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import LogMessage, Progress, Question
from a2c_smcp.errors import InvalidAnswerError, MalformedRequestError
from a2c_smcp.gateway.questions import ask_all, askable_of, required, written
from a2c_smcp.gateway.request_scope import traceparent_of
from a2c_smcp.gateway.results import shown
from a2c_smcp.protocol.questions import LOG_LEVELS, MAX_ROUNDS, Asked, Continuation
from a2c_smcp.utils.result_meta import MCP_ERROR
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
    """Whether questions say which MCP server on which Computer asks. If not, the host sees the MCP server as it is, and
    its errors, too."""
    log_level: types.LoggingLevel | None = None
    """The lowest level of log messages that the host gets; None for none."""


async def call(
    ctx: Context, agent: AsyncSMCPAgentClient, target: Target, params: types.CallToolRequestParams
) -> dict[str, Any]:
    """Call a tool for a host.

    Raises:
        SMCPError: the call fails before it reaches the tool, or the Computer is gone.
    """
    continuation = _continuation(params, target)
    is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    rounds = 0
    async with reports(ctx, target.log_level) as (on_progress, on_log):
        while True:
            outcome = await _finished(
                agent.call_tool_once(
                    target.computer,
                    target.tool,
                    target.arguments,
                    min(CALL_SECONDS, agent.server_info.max_tool_timeout or CALL_SECONDS),
                    on_progress=on_progress,
                    on_log=on_log,
                    log_level=target.log_level or "emergency",
                    continuation=continuation,
                    principal=target.principal,
                    traceparent=traceparent_of(ctx),
                )
            )
            if isinstance(outcome, CallToolResult):
                if params.request_state is not None:
                    _check_state(outcome)
                if not target.names_server:
                    _check_error(outcome)
                return shown(outcome, is_modern=is_modern, is_direct=not target.names_server)
            askable = askable_of(ctx, outcome)
            if is_modern and continuation is None and (given := _given(params, outcome)) is not None:
                continuation = given
                continue
            if is_modern and askable:
                return _input_required(outcome, askable, target)
            rounds += 1
            try:
                if rounds > MAX_ROUNDS:
                    raise InvalidAnswerError(f"{target.computer} asks more than {MAX_ROUNDS} times in one call")
                replies = await ask_all(ctx, outcome, askable, names_server=target.names_server)
            except BaseException:
                _in_background(agent.cancel_call(outcome))  # no request runs that would be cancelled with its task
                raise
            continuation = outcome.answered(replies)


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


# ---------------------------------------------------------------------------------------------- progress, log messages


@asynccontextmanager
async def reports(
    ctx: Context, log_level: types.LoggingLevel | None = None
) -> AsyncGenerator[tuple[OnProgress | None, OnLog | None]]:
    """What takes the progress and the log messages of a call; None for what the host does not want."""
    wants_progress = ctx.meta is not None and ctx.meta.get("progress_token") is not None
    if not wants_progress and log_level is None:
        yield None, None
        return
    # The Agent reports where it reads its connection, and must not wait for a host that reads slowly.
    waiting: deque[Progress | LogMessage] = deque(maxlen=MOST_REPORTS)
    news = asyncio.Event()
    is_over = False

    def take(report: Progress | LogMessage) -> None:
        # A Computer may not know levels, and a host of 2026-07-28 must not get more than it asked for.
        if isinstance(report, Progress) or _is_wanted(report, log_level):
            waiting.append(report)
            news.set()

    async def send_all() -> None:
        while waiting or not is_over:
            if waiting:
                await _send(ctx, waiting.popleft())
            else:
                news.clear()
                await news.wait()

    sender = asyncio.create_task(send_all(), name="reports of a call")
    try:
        yield take if wants_progress else None, take if log_level is not None else None
        # All reports reach the host before the result.
        is_over = True
        news.set()
        await sender
    finally:
        sender.cancel()


def _is_wanted(message: LogMessage, level: types.LoggingLevel | None) -> bool:
    return level is not None and LOG_LEVELS.index(message.level) >= LOG_LEVELS.index(level)


async def _send(ctx: Context, report: Progress | LogMessage) -> None:
    if isinstance(report, Progress):
        await ctx.session.report_progress(report.progress, report.total, report.message)
        return
    params = types.LoggingMessageNotificationParams.model_validate(
        {"level": report.level, "data": report.data, "logger": report.logger}
    )
    await ctx.session.send_notification(types.LoggingMessageNotification(params=params), ctx.request_id)


# ------------------------------------------------------------------------------------------------------------ questions


def _input_required(asked: Asked, askable: Mapping[str, Question], target: Target) -> dict[str, Any]:
    declined = [key for key in asked.questions if key not in askable]
    # In the clear: the Computer accepts a state once, and only for the same user, tool and arguments.
    state = orjson.dumps([target.computer, target.tool, asked.req_id, asked.request_state, declined]).decode()
    return required(askable, state, names_server=target.names_server)


def _continuation(params: types.CallToolRequestParams, target: Target) -> Continuation | None:
    """What continues a call of 2026-07-28.

    Raises:
        MCPError: the state is not one of this call.
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
                responses |= written(params.input_responses)
                return Continuation(req_id, state, responses)
        case _:
            pass
    raise MCPError(code=types.INVALID_PARAMS, message="requestState: unknown; call the tool again without it")


def _given(params: types.CallToolRequestParams, asked: Asked) -> Continuation | None:
    """The continuation of a call whose host sent the answers with the call: it knows the questions from an earlier one.
    None if an answer is missing."""
    answers = written(params.input_responses)
    if params.request_state is not None or not asked.questions.keys() <= answers.keys():
        return None
    return Continuation(asked.req_id, asked.request_state, {key: answers[key] for key in asked.questions})


def _check_state(result: CallToolResult) -> None:
    """Raise an `MCPError` if the Computer rejects the state of a call: it is no failure of the tool."""
    if result.is_error and (result.meta or {}).get("error_code") == MalformedRequestError.code:
        raise MCPError(code=types.INVALID_PARAMS, message=result.text)


def _check_error(result: CallToolResult) -> None:
    """Raise the `MCPError` with which the MCP server rejected a call."""
    match (result.meta or {}).get(MCP_ERROR):
        case {"code": int(code), "message": str(message)} as error:
            raise MCPError(code=code, message=message, data=cast("dict[str, Any]", error).get("data"))
        case _:
            pass
