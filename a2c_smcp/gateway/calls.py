"""A tool call of a host: its progress, its questions in the form of the host's protocol era, and its result.

A host cancels a call by a notification, by closing the stream of a call, or by going away: each cancels the task that
runs `call`, and with it the call where it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Progress, Question, Reply
from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.protocol.questions import Asked, Continuation
from a2c_smcp.utils.results import CallToolResult, to_wire

CALL_SECONDS = 3600.0
"""The longest call. Hosts have timeouts of their own, at which they cancel."""

Context = ServerRequestContext[Any, Any]


async def call(
    ctx: Context,
    agent: AsyncSMCPAgentClient,
    computer: str,
    tool: str,
    arguments: Mapping[str, Any],
    params: types.CallToolRequestParams,
    *,
    names_server: bool,
) -> dict[str, Any] | types.InputRequiredResult:
    """Call a tool for a host.

    With `names_server`, questions say which MCP server on which Computer asks.

    Raises:
        SMCPError: the call fails before it reaches the tool, or the Computer is gone.
    """
    continuation = _continuation(params, computer, tool)
    async with _progress(ctx) as on_progress:
        while True:
            outcome = await agent.call_tool_once(
                computer,
                tool,
                arguments,
                CALL_SECONDS,
                on_progress=on_progress,
                continuation=continuation,
            )
            if isinstance(outcome, CallToolResult):
                return _shown(outcome)
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return _input_required(outcome, computer, tool, names_server=names_server)
            continuation = outcome.answered(await _ask(ctx, outcome, names_server=names_server))


def _shown(result: CallToolResult) -> dict[str, Any]:
    """A result as MCP writes it."""
    written = to_wire(result)
    meta = written.pop("meta", None)  # the protocol of offices writes it without the underscore
    return {**written, "_meta": meta} if meta else written


# ------------------------------------------------------------------------------------------------------------- progress


@asynccontextmanager
async def _progress(ctx: Context) -> AsyncGenerator[Any]:
    """What takes the progress of a call; None if the host does not want it."""
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        yield None
        return
    # The Agent reports where it reads its connection, and must not wait for a host that reads slowly: the latest report
    # is sent when the host has read the one before.
    latest: list[Progress] = []
    news = asyncio.Event()

    def take(progress: Progress) -> None:
        latest[:] = [progress]
        news.set()

    async def send() -> None:
        while True:
            await news.wait()
            news.clear()
            await _send_latest()

    async def _send_latest() -> None:
        if latest:
            progress = latest.pop()
            await ctx.session.report_progress(progress.progress, progress.total, progress.message)

    sender = asyncio.create_task(send(), name="progress")
    try:
        yield take
        # The last report reaches the host before the result.
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        await _send_latest()
    finally:
        sender.cancel()


# ------------------------------------------------------------------------------------------------------------ questions


async def _ask(ctx: Context, asked: Asked, *, names_server: bool) -> dict[str, Reply]:
    """Ask the host's user each question, in the way of protocols before 2026-07-28."""
    return {key: await _ask_one(ctx, question, names_server) for key, question in asked.questions.items()}


async def _ask_one(ctx: Context, question: Question, names_server: bool) -> Reply:
    if not _can_ask(ctx, question):
        return question.decline()
    params = _params(question, names_server)
    try:
        async with asyncio.timeout(question.expires_in or None):
            answer = await ctx.session.send_request(
                types.ElicitRequest(params=params), types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )  # fmt: skip
    except (TimeoutError, MCPError):
        return question.cancel()
    return Reply(answer.action, answer.content)


def _can_ask(ctx: Context, question: Question) -> bool:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or not ctx.session.can_send_request:
        return False
    if question.url is not None:
        return elicitation.url is not None
    # A host that names neither form nor URL means forms: the capability had no parts at first.
    return elicitation.form is not None or elicitation.url is None


def _params(question: Question, names_server: bool) -> types.ElicitRequestFormParams | types.ElicitRequestURLParams:
    message = question.message
    if names_server:
        message = f"{question.mcp_server} on {question.computer} asks: {message}"
    if question.url is not None:
        return types.ElicitRequestURLParams(
            message=message, url=question.url, elicitation_id=question.elicitation_id or uuid.uuid4().hex
        )
    return types.ElicitRequestFormParams(message=message, requested_schema=dict(question.schema or {}))


def _input_required(asked: Asked, computer: str, tool: str, *, names_server: bool) -> types.InputRequiredResult:
    """The result that asks a host of 2026-07-28, which calls again with the answers."""
    requests: Any = {
        key: types.ElicitRequest(params=_params(question, names_server)) for key, question in asked.questions.items()
    }
    # In the clear: the Computer accepts a state once, and only from this Agent, for the same tool and arguments.
    state = orjson.dumps([computer, tool, asked.req_id, asked.request_state]).decode()
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def _continuation(params: types.CallToolRequestParams, computer: str, tool: str) -> Continuation | None:
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
        case [str(their_computer), str(their_tool), str(req_id), str(state)]:
            if (their_computer, their_tool) == (computer, tool):
                responses: Any = {
                    key: answer.model_dump(mode="json", by_alias=True, exclude_none=True)
                    for key, answer in (params.input_responses or {}).items()
                }
                return Continuation(req_id, state, responses)
        case _:
            pass
    raise MalformedRequestError("requestState: unknown; call the tool again without it")
