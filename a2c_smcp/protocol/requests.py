"""The Agent's requests, as flows: they send a request, read its answer, and cancel or retry where that helps.

A request that the Server or the Computer rejects raises the error of the rejection. A tool that fails raises nothing:
its failure is the result of the call.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

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
from a2c_smcp.protocol.questions import MAX_ROUNDS, Asked, Continuation, Question, read_questions, read_reply
from a2c_smcp.protocol.seat import check_seconds
from a2c_smcp.utils.dpe_uri import extend_dpe_uri, is_dpe_uri, parse_dpe_uri, without_query
from a2c_smcp.utils.failures import log_failure

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

_LONGER = 1.5
"""The most that a client waits after a 429, as a multiple of what the Server says."""

_SHORTEST = 1.0
"""The least seconds that a call gets after its question was answered."""
_NOTHING = contextlib.nullcontext()

AnswerQuestion: TypeAlias = Callable[[Question], MaybeAwaitable[Any]]
"""Answers a question: with a `Reply`, with the values of the form, or with None to decline."""
Listen: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Listens to the reports about the request with this id, for as long as the block runs."""

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
) -> Flow[ClientBackend, CallToolResult]:
    """Call a tool. After `timeout` seconds, or when the caller is interrupted, the Computer gets a cancellation.

    `answer` answers the questions of the tool, after which the call goes on; the time that it takes does not count.
    Without it, the result explains the question. `listen` is entered with the id of each request.

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
    for _ in range(MAX_ROUNDS):
        began = time.monotonic()
        with listen(request["req_id"]) if listen is not None else _NOTHING:
            result, asked = yield from _call_once(request, seconds)
        if answer is None or asked is None:
            return result
        seconds = max(seconds - (time.monotonic() - began), _SHORTEST)
        replies = yield from _consult(request, asked, answer)
        request = request.copy()
        request["timeout"] = math.ceil(seconds)  # the `req_id` stays: it is the same call
        request["input_responses"], request["request_state"] = replies, asked.request_state
    raise InvalidAnswerError(f"{computer} asks more than {MAX_ROUNDS} times in one call")


def call_tool_once(
    agent: str,
    computer: str,
    tool_name: str,
    params: Mapping[str, Any],
    timeout: float,
    *,
    continuation: Continuation | None = None,
    principal: str | None = None,
    listen: Listen | None = None,
) -> Flow[ClientBackend, CallToolResult | Asked]:
    """Call a tool, or continue a call that asked: its result, or the questions that it asks now.

    `principal` names the user that the call is made for.

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
    with listen(request["req_id"]) if listen is not None else _NOTHING:
        result, asked = yield from _call_once(request, seconds)
    return result if asked is None else replace(asked, req_id=request["req_id"])


def _call_once(request: smcp.ToolCallReq, seconds: float) -> Flow[ClientBackend, tuple[CallToolResult, Asked | None]]:
    """Send one request of a call: its result, and the questions in it."""
    agent, req_id = request["agent"], request["req_id"]
    computer, tool_name = request["computer"], request["tool_name"]
    logger.debug("calling %s of %s", tool_name, computer, extra={"req_id": req_id})
    with _logged(smcp.TOOL_CALL_EVENT, req_id):
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
        result = yield from ReadResult(answer)
    # A tool that failed is a result for the model to read, not an error. It is logged all the same, like a rejection.
    if (failure := failure_in(answer)) is None:
        return result, None
    asked = read_questions(answer, computer, tool_name)
    if asked is None:
        place = f"{tool_name} of {computer}"
        log_failure(logger, smcp.TOOL_CALL_EVENT, req_id, failure.code, f"{place}: {failure.message}")
    return result, asked


def _consult(
    request: smcp.ToolCallReq, asked: Asked, answer: AnswerQuestion
) -> Flow[ClientBackend, dict[str, smcp.InputResponse]]:
    """Let the program answer the questions of a call. If it fails, or is interrupted, the call is cancelled."""
    replies: dict[str, smcp.InputResponse] = {}
    try:
        for key, question in asked.questions.items():
            replies[key] = read_reply((yield from Consult(answer, question))).to_wire()
    except BaseException:
        yield from cancel_call(request["agent"], request["req_id"])
        raise
    return replies


def cancel_call(agent: str, req_id: str) -> Flow[ClientBackend, None]:
    """Cancel a call that runs, or waits for an answer."""
    with contextlib.suppress(ConnectionError):  # the Server cancels the calls of a connection that breaks
        yield from Tell(smcp.CANCEL_TOOL_CALL_EVENT, smcp.CancelToolCallReq(agent=agent, req_id=req_id))


@contextlib.contextmanager
def _logged(event: str, req_id: str) -> Generator[None]:
    """Log the error that a request ends with, with its `req_id`."""
    try:
        yield
    except SMCPError as error:
        log_failure(logger, event, req_id, error.code, error.message)
        raise


def ask(
    event: str, request: Mapping[str, Any], timeout: float, read: Callable[[Any, str], AnswerT]
) -> Flow[ClientBackend, AnswerT]:
    """Send a request and read its answer.

    Raises:
        SMCPError: the request was rejected, timed out, or its answer is invalid.
    """
    with _logged(event, request["req_id"]):
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
    agent: str, computer: str, uri: str, timeout: float, mcp_server: str | None = None
) -> Flow[ClientBackend, smcp.ReadResourceRet]:
    """A resource, as its MCP server gives it."""
    request = smcp.ReadResourceReq(agent=agent, req_id=new_id(), computer=computer, uri=uri)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    return (yield from ask(smcp.READ_RESOURCE_EVENT, request, timeout, read_contents))


def read_resource(
    agent: str, computer: str, uri: str, timeout: float, mcp_server: str | None = None
) -> Flow[ClientBackend, dict[str, Any]]:
    """The body of a document, page or element; of any other resource the MCP answer."""
    answer = yield from read_resource_contents(agent, computer, uri, timeout, mcp_server)
    return read_body(uri, answer)


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


def list_computers(agent: str, office_id: str, timeout: float) -> Flow[ClientBackend, list[smcp.SessionInfo]]:
    """The Computers in the Agent's office."""
    request = smcp.ListRoomReq(agent=agent, req_id=new_id(), office_id=office_id)
    members = yield from ask(smcp.LIST_ROOM_EVENT, request, timeout, read_roster)
    return [member for member in members if member["role"] == "computer"]


def new_id() -> str:
    """A random id for a request: other members must not be able to guess it, because they could cancel the request."""
    return os.urandom(16).hex()


# ------------------------------------------------------------------------------------------------------------ documents


def pages_uri(uri: str, offset: int, limit: int) -> str:
    """The address of a document with its page index."""
    return extend_dpe_uri(uri, None, {"depth": "pages", "offset": str(offset), "limit": str(limit)})


def page_uri(uri: str, page_index: int, format: str, categories: Sequence[str] | None) -> str:
    """The address of a page."""
    params = {"format": format} if format != "json" else {}
    if categories is not None:
        params["categories"] = ",".join([categories] if isinstance(categories, str) else categories)
    return extend_dpe_uri(uri, f"pages/{page_index}", params)


def element_uri(uri: str, element_id: str, format: str) -> str:
    """The address of an element."""
    return extend_dpe_uri(uri, f"elements/{element_id}", {"format": format} if format != "json" else None)


def page_count(document: Mapping[str, Any]) -> int:
    """The number of pages that a document declares.

    Raises:
        InvalidAnswerError: it declares none.
    """
    count = document.get("page_count")
    if type(count) is not int or count < 0:
        raise InvalidAnswerError("page_count: a number is expected")
    return count


def read_body(uri: str, answer: smcp.ReadResourceRet) -> dict[str, Any]:
    """The body of a `dpe://` resource, as an object; for any other resource, the answer as it came.

    Plain markdown or text is put into the envelope of the protocol.
    """
    contents = answer["contents"]
    text = contents[0].get("text") if len(contents) == 1 else None
    if text is None or not is_dpe_uri(uri):
        return cast("dict[str, Any]", answer)
    # Text that is not JSON is no error: it is the markdown of a simple MCP server. Neither is JSON that is not an
    # object, such as a page that consists of a number.
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return cast("dict[str, Any]", body)
    return _envelope(uri, text, str(contents[0].get("mimeType")))


def _envelope(uri: str, text: str, mime_type: str) -> dict[str, Any]:
    address = parse_dpe_uri(uri)
    envelope: dict[str, Any] = {"uri": without_query(uri), "title": address.doc_ref or address.host}
    if address.doc_ref is not None:
        envelope["doc_ref"] = address.doc_ref
    if address.page_index is not None:
        envelope["page_index"] = address.page_index
    if address.element_id is not None:
        envelope["element_id"] = address.element_id
    is_markdown = address.query_params.get("format") == "markdown" or mime_type.startswith("text/markdown")
    envelope["content_markdown" if is_markdown else "content_text"] = text
    return envelope
