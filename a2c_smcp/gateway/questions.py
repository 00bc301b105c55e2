"""Questions of MCP servers in the form of the host's protocol era: requests to hosts before 2026-07-28, and results
that require input for the others."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from a2c_smcp.agent.types import Question, Reply
from a2c_smcp.protocol.questions import Asked

AHEAD = 5.0
"""Seconds before questions expire at which those without an answer are cancelled."""

Context = ServerRequestContext[Any, Any]


def askable_of(ctx: Context, asked: Asked) -> dict[str, Question]:
    """The questions that the host can show."""
    return {
        key: question for key, question in asked.questions.items() if question is not None and can_ask(ctx, question)
    }


def required(questions: Mapping[str, Question], state: str | None, *, names_server: bool) -> dict[str, Any]:
    """The result that asks a host of 2026-07-28, which sends its request again with the answers."""
    requests: Any = {
        key: types.ElicitRequest(params=params_of(question, names_server=names_server))
        for key, question in questions.items()
    }
    result = types.InputRequiredResult(input_requests=requests, request_state=state)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def written(answers: Mapping[str, types.InputResponse] | None) -> dict[str, Any]:
    """The answers of such a host, as it wrote them."""
    return {
        key: answer.model_dump(mode="json", by_alias=True, exclude_none=True) for key, answer in (answers or {}).items()
    }


async def ask_all(
    ctx: Context, asked: Asked, askable: Mapping[str, Question], *, names_server: bool
) -> dict[str, Reply]:
    """Ask the host's user one question after another, in the way of protocols before 2026-07-28. What the host cannot
    show is declined, and what is not answered in time is cancelled."""
    # The answers have to arrive before the questions expire, or the Computer drops the result of the tool.
    until = asyncio.get_running_loop().time() + asked.expires_in - min(AHEAD, asked.expires_in / 10)
    replies: dict[str, Reply] = {}
    for key in asked.questions:
        question = askable.get(key)
        replies[key] = (
            Reply("decline")
            if question is None
            else await _ask(ctx, params_of(question, names_server=names_server), until)
        )
    return replies


async def _ask(
    ctx: Context, params: types.ElicitRequestFormParams | types.ElicitRequestURLParams, until: float
) -> Reply:
    try:
        async with asyncio.timeout_at(until):
            answer = await ctx.session.send_request(
                types.ElicitRequest(params=params),
                types.ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
    # No answer in time, an error, or something that is no answer: the person has not decided.
    except (TimeoutError, MCPError, ValidationError):
        return Reply("cancel")
    return Reply(answer.action, answer.content)


def can_ask(ctx: Context, question: Question) -> bool:
    """Whether the host can show a question."""
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


def params_of(
    question: Question, *, names_server: bool
) -> types.ElicitRequestFormParams | types.ElicitRequestURLParams:
    """A question as MCP writes it. With `names_server`, it says which MCP server on which Computer asks."""
    message = question.message
    if names_server:
        message = f"{question.mcp_server} on {question.computer} asks: {message}"
    if question.problem is not None:
        message = f"{message}\n\nThe last answer does not fit: {question.problem}"
    if question.url is not None:
        return types.ElicitRequestURLParams(
            message=message, url=question.url, elicitation_id=question.elicitation_id or uuid.uuid4().hex
        )
    return types.ElicitRequestFormParams(message=message, requested_schema=dict(question.schema or {}))
