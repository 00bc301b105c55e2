"""The Agent's requests, as flows: they send a request, read its answer, and cancel or retry where that helps.

A request that the Server or the Computer rejects raises the error of the rejection. A tool that fails raises nothing:
its failure is the result of the call.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError, MalformedRequestError, SMCPError, TimedOutError
from a2c_smcp.protocol.answers import (
    failure_in,
    read_completion,
    read_config,
    read_contents,
    read_desktop,
    read_finder,
    read_object,
    read_roster,
    read_templates,
    read_tools,
    retry_after,
    timed_out,
)
from a2c_smcp.protocol.client_effects import Ask, ClientBackend, Consult, Pause, ReadResult, Tell
from a2c_smcp.protocol.flow import AnswerT, Flow, MaybeAwaitable
from a2c_smcp.protocol.questions import MAX_ROUNDS, Asked, Continuation, Question, Reply, read_questions, read_reply
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.utils.failures import log_failure

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

_LONGER = 1.5
"""The most that a client waits after a 429, as a multiple of what the Server says."""

_SHORTEST = 1.0
"""The least seconds that a call gets after its question was answered."""
_AHEAD = 5.0
"""Seconds before a question expires at which the Agent declines it; of a shorter one, a tenth of its time. The decline
has to arrive in time, or the Computer drops the result of the tool."""
_NOTHING = contextlib.nullcontext()

AnswerQuestion: TypeAlias = Callable[[Question, float], MaybeAwaitable[Any]]
"""Answers a question within some seconds: with a `Reply`, with the values of the form, or with None to decline."""
Listen: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Listens to the reports about the request with this id, for as long as the block runs."""


class Restoring(Protocol):
    """Restores the binaries of answers; see `blob_restore.Binaries`."""

    @property
    def max_inline_bytes(self) -> int | None:
        """The largest binary that is wanted inside an answer; None for any."""
        ...

    def concern(self, answer: dict[str, Any], /) -> bool:
        """Whether `restore` has something to do."""
        ...

    def restore(
        self, agent: str, computer: str, answer: dict[str, Any], seconds: float, /
    ) -> Flow[ClientBackend, dict[str, Any]]:
        """The answer with the binaries that a Computer left out."""
        ...


DEFAULT_LIMIT = 20
LARGEST_LIMIT = 100


def call_tool(
    agent: str,
    computer: str,
    tool_name: str,
    params: Mapping[str, Any],
    timeout: float,
    *,
    answer: AnswerQuestion | None = None,
    listen: Listen | None = None,
    traceparent: str | None = None,
    binaries: Restoring | None = None,
) -> Flow[ClientBackend, CallToolResult]:
    """Call a tool. After `timeout` seconds, or when the caller is interrupted, the Computer gets a cancellation.

    `answer` answers the questions of the tool, after which the call goes on; the time that it takes does not count.
    Without it, they are declined. `listen` is entered with the id of each request. `traceparent` is passed on to the
    MCP server. `binaries` restores the large binaries of the result, after the call: it has time limits of its own.

    Raises:
        MalformedRequestError: `timeout` is not a positive number of seconds.
        SMCPError: the Server or the Computer rejects the request.
    """
    seconds = check_seconds(timeout)
    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MalformedRequestError("params: an object is expected")
    request = smcp.ToolCallReq(
        agent=agent,
        req_id=new_id(),
        computer=computer,
        tool_name=tool_name,
        params=dict(params),
        # The protocol wants whole seconds. Rounded up: 0 would be rejected, and the Computer must not stop the tool
        # while the caller still waits.
        timeout=math.ceil(seconds),
    )
    if traceparent is not None:
        request["traceparent"] = traceparent
    _want_handles(request, binaries)
    rounds = 0
    answered: str | None = None
    while True:
        began = time.monotonic()
        with listen(request["req_id"]) if listen is not None else _NOTHING:
            result, asked = yield from _call_once(request, seconds, binaries)
        if asked is None:
            return result
        if asked.request_state == answered:
            # A Computer asks again with another state. This one got the request without the answers: official Servers
            # pass on only the fields that they know. The text of this result explains the question.
            logger.warning("the Server does not pass on answers to questions", extra={"req_id": request["req_id"]})
            yield from cancel_call(agent, request["req_id"])
            return result
        rounds += 1
        if rounds > MAX_ROUNDS:
            yield from cancel_call(agent, request["req_id"])
            raise InvalidAnswerError(f"{computer} asks more than {MAX_ROUNDS} times in one call")
        seconds = max(seconds - (time.monotonic() - began), _SHORTEST)
        replies = yield from _consult(request, asked, answer)
        request = request.copy()
        request["timeout"] = math.ceil(seconds)  # the `req_id` stays: it is the same call
        request["input_responses"], request["request_state"] = replies, asked.request_state
        answered = asked.request_state


def call_tool_once(
    agent: str,
    computer: str,
    tool_name: str,
    params: Mapping[str, Any],
    timeout: float,
    *,
    continuation: Continuation | None = None,
    principal: str | None = None,
    log_level: str | None = None,
    listen: Listen | None = None,
    traceparent: str | None = None,
    binaries: Restoring | None = None,
) -> Flow[ClientBackend, CallToolResult | Asked]:
    """Call a tool, or continue a call that asked: its result, or the questions that it asks now.

    `principal` names the user that the call is made for. `traceparent` is passed on to the MCP server. Log messages
    from `log_level` on are wanted. `binaries` is that of `call_tool`.

    Raises:
        MalformedRequestError: `timeout` is not a positive number of seconds.
        SMCPError: the Server or the Computer rejects the request.
    """
    seconds = check_seconds(timeout)
    request = smcp.ToolCallReq(
        agent=agent,
        req_id=new_id() if continuation is None else continuation.req_id,
        computer=computer,
        tool_name=tool_name,
        params=dict(params),
        timeout=math.ceil(seconds),
    )
    if continuation is not None:
        request["input_responses"] = dict(continuation.input_responses)
        request["request_state"] = continuation.request_state
    if principal is not None:
        request["principal"] = principal
    if traceparent is not None:
        request["traceparent"] = traceparent
    if log_level is not None:
        request["log_level"] = log_level
    _want_handles(request, binaries)
    with listen(request["req_id"]) if listen is not None else _NOTHING:
        result, asked = yield from _call_once(request, seconds, binaries)
    return result if asked is None else replace(asked, req_id=request["req_id"])


def _want_handles(request: smcp.ToolCallReq | smcp.ReadResourceReq, binaries: Restoring | None) -> None:
    """Say that this Agent reads handles."""
    if binaries is not None and binaries.max_inline_bytes is not None:
        request["max_inline_bytes"] = binaries.max_inline_bytes


def _call_once(
    request: smcp.ToolCallReq, seconds: float, binaries: Restoring | None
) -> Flow[ClientBackend, tuple[CallToolResult, Asked | None]]:
    """Send one request of a call: its result, and the questions in it."""
    agent, req_id = request["agent"], request["req_id"]
    computer, tool_name = request["computer"], request["tool_name"]
    logger.debug("calling %s of %s", tool_name, computer, extra={"req_id": req_id})
    with _Logged(smcp.TOOL_CALL_EVENT, req_id):
        try:
            ack = yield from _ask_patiently(smcp.TOOL_CALL_EVENT, request, seconds)
        except TimedOutError as error:
            place = f"{tool_name} of {computer}"
            log_failure(logger, smcp.TOOL_CALL_EVENT, req_id, error.code, f"{place}: {error.message}; it is cancelled")
            yield from cancel_call(agent, req_id)
            return (yield from ReadResult(timed_out(seconds))), None
        except BaseException as error:
            # Only KeyboardInterrupt, CancelledError and their like: the caller does not wait any more. After any other
            # error the Server has answered, or has cancelled the call because the connection broke.
            if not isinstance(error, Exception):
                yield from cancel_call(agent, req_id)
            raise
        answer = read_object(ack)
        if binaries is not None and binaries.concern(answer):
            answer = yield from binaries.restore(agent, computer, answer, seconds)
        result = yield from ReadResult(answer)
    # A tool that failed is a result for the model to read, not an error. It is logged all the same, like a rejection.
    # `isError` comes first, because nearly every call succeeds, and `read_object` has raised every other error.
    if answer.get("isError") is not True or (failure := failure_in(answer)) is None:
        return result, None
    asked = read_questions(answer, computer, tool_name)
    if asked is None:
        place = f"{tool_name} of {computer}"
        log_failure(logger, smcp.TOOL_CALL_EVENT, req_id, failure.code, f"{place}: {failure.message}")
    return result, asked


def _consult(
    request: smcp.ToolCallReq, asked: Asked, answer: AnswerQuestion | None
) -> Flow[ClientBackend, dict[str, smcp.InputResponse]]:
    """Let the program answer the questions of a call. If it fails, or is interrupted, the call is cancelled."""
    replies: dict[str, smcp.InputResponse] = {}
    expires_at = time.monotonic() + asked.expires_in
    try:
        for key, question in asked.questions.items():
            if question is not None and answer is not None:
                remaining = max(expires_at - time.monotonic(), 0.0)
                # The program learns of a shorter time than it has: if it keeps to that, its own decision counts.
                ahead = min(_AHEAD, remaining / 10)
                question = replace(question, expires_in=remaining - ahead)
                reply = read_reply((yield from Consult(answer, question, remaining - ahead / 2)))
            else:
                reason = "it cannot be shown" if question is None else "this Agent has no on_question"
                place = f"{request['tool_name']} of {request['computer']}"
                logger.warning("a question of %s is declined: %s", place, reason, extra={"req_id": request["req_id"]})
                reply = Reply("decline")
            replies[key] = reply.to_wire()
    except BaseException:
        yield from cancel_call(request["agent"], request["req_id"])
        raise
    return replies


def cancel_call(agent: str, req_id: str) -> Flow[ClientBackend, None]:
    """Cancel a call that runs, or waits for an answer."""
    with contextlib.suppress(ConnectionError):  # the Server cancels the calls of a connection that breaks
        yield from Tell(smcp.CANCEL_TOOL_CALL_EVENT, smcp.CancelToolCallReq(agent=agent, req_id=req_id))


class _Logged:
    """Logs the error that a request ends with, with its `req_id`."""

    # A class, because every request enters it: a generator as a context manager takes three times as long.
    __slots__ = ("_event", "_req_id")

    def __init__(self, event: str, req_id: str) -> None:
        self._event = event
        self._req_id = req_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, SMCPError):
            log_failure(logger, self._event, self._req_id, error.code, error.message)


def ask(
    event: str, request: Mapping[str, Any], timeout: float, read: Callable[[Any, str], AnswerT]
) -> Flow[ClientBackend, AnswerT]:
    """Send a request and read its answer.

    Raises:
        SMCPError: the request was rejected, timed out, or its answer is invalid.
    """
    with _Logged(event, request["req_id"]):
        return read((yield from _ask_patiently(event, request, timeout)), request["req_id"])


def _ask_patiently(event: str, request: Mapping[str, Any], timeout: float) -> Flow[ClientBackend, Any]:
    """Send a request. If the Server answers that there are too many (429), wait as long as it says and retry, within
    the timeout of the request."""
    remaining = timeout
    while True:
        ack = yield from Ask(event, request, remaining)
        seconds = retry_after(ack)
        # If the longest pause would use up the timeout, the program gets the 429 now instead of a timeout later.
        if seconds is None or seconds * _LONGER >= remaining:
            return ack
        seconds *= random.uniform(1, _LONGER)  # so that waiting clients do not all retry at once
        yield from Pause(seconds)
        remaining -= seconds


def get_tools(
    agent: str, computer: str, timeout: float, known_digest: str | None = None
) -> Flow[ClientBackend, smcp.GetToolsRet]:
    """The tools of a Computer; without the list, if it is the one with the digest `known_digest`."""
    request = smcp.GetToolsReq(agent=agent, req_id=new_id(), computer=computer)
    if known_digest is not None:
        request["known_digest"] = known_digest

    def read(ack: Any, req_id: str) -> smcp.GetToolsRet:
        return read_tools(ack, req_id, known_digest)

    return (yield from ask(smcp.GET_TOOLS_EVENT, request, timeout, read))


def get_config(agent: str, computer: str, timeout: float) -> Flow[ClientBackend, smcp.GetComputerConfigRet]:
    """The configuration of a Computer."""
    request = smcp.GetComputerConfigReq(agent=agent, req_id=new_id(), computer=computer)
    return (yield from ask(smcp.GET_CONFIG_EVENT, request, timeout, read_config))


def get_desktop(
    agent: str, computer: str, size: int | None, window: str | None, timeout: float
) -> Flow[ClientBackend, smcp.GetDeskTopRet]:
    """The windows of a Computer."""
    request = smcp.GetDeskTopReq(agent=agent, req_id=new_id(), computer=computer)
    if size is not None:
        request["desktop_size"] = size
    if window is not None:
        request["window"] = window
    return (yield from ask(smcp.GET_DESKTOP_EVENT, request, timeout, read_desktop))


def get_finder(
    agent: str,
    computer: str,
    keywords: Sequence[str] | None,
    file_type: str | None,
    offset: int,
    limit: int,
    timeout: float,
) -> Flow[ClientBackend, smcp.GetFinderRet]:
    """A page of the catalogue of a Computer. Filters that are not set, and defaults, are not sent."""
    request = smcp.GetFinderReq(agent=agent, req_id=new_id(), computer=computer)
    if keywords is not None:
        # A string is a sequence, too: without this, each of its letters would be a keyword.
        request["keywords"] = [keywords] if isinstance(keywords, str) else list(keywords)
    if file_type is not None:
        request["file_type"] = file_type
    if offset != 0:
        request["offset"] = offset
    if limit != DEFAULT_LIMIT:
        request["limit"] = limit
    return (yield from ask(smcp.GET_FINDER_EVENT, request, timeout, read_finder))


def read_resource_contents(
    agent: str,
    computer: str,
    uri: str,
    timeout: float,
    mcp_server: str | None = None,
    binaries: Restoring | None = None,
) -> Flow[ClientBackend, smcp.ReadResourceRet]:
    """A resource, as its MCP server gives it."""
    request = smcp.ReadResourceReq(agent=agent, req_id=new_id(), computer=computer, uri=uri)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    _want_handles(request, binaries)
    answer = yield from ask(smcp.READ_RESOURCE_EVENT, request, timeout, read_contents)
    if binaries is None:
        return answer
    restored = yield from binaries.restore(agent, computer, cast("dict[str, Any]", answer), timeout)
    return cast("smcp.ReadResourceRet", restored)


def list_resource_templates(
    agent: str, computer: str, mcp_server: str | None, cursor: str | None, timeout: float
) -> Flow[ClientBackend, smcp.ListResourceTemplatesRet]:
    """The resource templates of a Computer's MCP servers, or of one of them."""
    request = smcp.ListResourceTemplatesReq(agent=agent, req_id=new_id(), computer=computer)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    if cursor is not None:
        request["cursor"] = cursor
    return (yield from ask(smcp.LIST_RESOURCE_TEMPLATES_EVENT, request, timeout, read_templates))


def complete(
    agent: str,
    computer: str,
    ref: Mapping[str, Any],
    argument: Mapping[str, Any],
    context: Mapping[str, str] | None,
    mcp_server: str | None,
    timeout: float,
) -> Flow[ClientBackend, smcp.CompleteRet]:
    """Values that an MCP server suggests for an argument of a resource template or a prompt."""
    request = smcp.CompleteReq(
        agent=agent,
        req_id=new_id(),
        computer=computer,
        ref=cast("smcp.CompletionReference", dict(ref)),
        argument=cast("smcp.CompletionArgument", dict(argument)),
    )
    if context is not None:
        request["context"] = {"arguments": dict(context)}
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    return (yield from ask(smcp.COMPLETE_EVENT, request, timeout, read_completion))


def list_members(name: str, office_id: str, timeout: float) -> Flow[ClientBackend, list[smcp.SessionInfo]]:
    """The members of the office of the client with this name."""
    request = smcp.ListRoomReq(agent=name, req_id=new_id(), office_id=office_id)
    return (yield from ask(smcp.LIST_ROOM_EVENT, request, timeout, read_roster))


def list_computers(agent: str, office_id: str, timeout: float) -> Flow[ClientBackend, list[smcp.SessionInfo]]:
    """The Computers in the Agent's office."""
    members = yield from list_members(agent, office_id, timeout)
    return [member for member in members if member["role"] == "computer"]


def new_id() -> str:
    """A random id for a request: other members must not be able to guess it, because they could cancel the request."""
    return os.urandom(16).hex()
