"""The Agent's requests, as flows: what is sent, what comes back, and what happens when nothing does.

A request that the other side refuses raises the error it was refused with. A tool that fails is no error: its failure
is the result.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError, InvalidDPEUriError, MalformedRequestError, TimedOutError
from a2c_smcp.protocol.answers import (
    read_config,
    read_contents,
    read_desktop,
    read_finder,
    read_object,
    read_roster,
    read_tools,
)
from a2c_smcp.protocol.client import Ask, ClientWorld, Load, Tell, check_seconds
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.utils.dpe_uri import QUERY_KEYS, build_dpe_uri, is_dpe_uri, parse_dpe_uri

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

_RESULTS = "a2c_smcp.utils.results"
DEFAULT_LIMIT = 20
LARGEST_LIMIT = 100


def call_tool(
    agent: str, computer: str, tool_name: str, params: Mapping[str, Any], timeout: float
) -> Flow[ClientWorld, CallToolResult]:
    """Call a tool. After `timeout` seconds, or when the caller gives up, the call is cancelled where it runs.

    Raises:
        MalformedRequestError: `timeout` is no number of seconds.
        SMCPError: the Server, or the Computer, refuses the request.
    """
    seconds = check_seconds(timeout)
    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise MalformedRequestError("params: an object is expected")
    results = yield from Load(_RESULTS)
    req_id = new_id()
    request = smcp.ToolCallReq(
        agent=agent,
        req_id=req_id,
        computer=computer,
        tool_name=tool_name,
        params=dict(params),
        timeout=math.ceil(seconds),
    )
    logger.debug("%s: calling %s of %s", req_id, tool_name, computer)
    try:
        ack = yield from Ask(smcp.TOOL_CALL_EVENT, request, seconds)
    except TimedOutError:
        logger.warning("%s: %s of %s took more than %g s and is cancelled", req_id, tool_name, computer, seconds)
        yield from _cancel(agent, req_id)
        return results.timed_out(seconds)
    except BaseException as error:
        if not isinstance(error, Exception):  # the caller is interrupted, or its task cancelled: nobody waits any more
            yield from _cancel(agent, req_id)
        raise
    answer = read_object(ack)
    try:
        return results.from_wire(answer)
    except ValueError as error:
        raise InvalidAnswerError(f"the Computer's answer is no tool result: {results.explain(error)}") from None


def _cancel(agent: str, req_id: str) -> Flow[ClientWorld, None]:
    with contextlib.suppress(ConnectionError):  # the Server has cancelled it itself, when the connection went
        yield from Tell(smcp.CANCEL_TOOL_CALL_EVENT, smcp.CancelToolCallReq(agent=agent, req_id=req_id))


def get_tools(agent: str, computer: str, timeout: float) -> Flow[ClientWorld, smcp.GetToolsRet]:
    """The tools of a Computer."""
    request = smcp.GetToolsReq(agent=agent, req_id=new_id(), computer=computer)
    return read_tools((yield from Ask(smcp.GET_TOOLS_EVENT, request, timeout)), request["req_id"])


def get_config(agent: str, computer: str, timeout: float) -> Flow[ClientWorld, smcp.GetComputerConfigRet]:
    """The configuration of a Computer."""
    request = smcp.GetComputerConfigReq(agent=agent, req_id=new_id(), computer=computer)
    return read_config((yield from Ask(smcp.GET_CONFIG_EVENT, request, timeout)), request["req_id"])


def get_desktop(
    agent: str, computer: str, size: int | None, window: str | None, timeout: float
) -> Flow[ClientWorld, smcp.GetDeskTopRet]:
    """The windows of a Computer."""
    request = smcp.GetDeskTopReq(agent=agent, req_id=new_id(), computer=computer)
    if size is not None:
        request["desktop_size"] = size
    if window is not None:
        request["window"] = window
    return read_desktop((yield from Ask(smcp.GET_DESKTOP_EVENT, request, timeout)), request["req_id"])


def get_finder(
    agent: str,
    computer: str,
    keywords: Sequence[str] | None,
    file_type: str | None,
    offset: int,
    limit: int,
    timeout: float,
) -> Flow[ClientWorld, smcp.GetFinderRet]:
    """A page of the catalogue of a Computer. Filters that are not set, and defaults, are not sent."""
    request = smcp.GetFinderReq(agent=agent, req_id=new_id(), computer=computer)
    if keywords is not None:
        request["keywords"] = [keywords] if isinstance(keywords, str) else list(keywords)
    if file_type is not None:
        request["file_type"] = file_type
    if offset != 0:
        request["offset"] = offset
    if limit != DEFAULT_LIMIT:
        request["limit"] = limit
    return read_finder((yield from Ask(smcp.GET_FINDER_EVENT, request, timeout)), request["req_id"])


def read_resource_contents(
    agent: str, computer: str, uri: str, timeout: float
) -> Flow[ClientWorld, smcp.ReadResourceRet]:
    """A resource, as its MCP server gives it."""
    request = smcp.ReadResourceReq(agent=agent, req_id=new_id(), computer=computer, uri=uri)
    return read_contents((yield from Ask(smcp.READ_RESOURCE_EVENT, request, timeout)), request["req_id"])


def read_resource(agent: str, computer: str, uri: str, timeout: float) -> Flow[ClientWorld, dict[str, Any]]:
    """The body of a document, page or element; of any other resource the MCP answer."""
    answer = yield from read_resource_contents(agent, computer, uri, timeout)
    return read_body(uri, answer)


def list_computers(agent: str, office_id: str, timeout: float) -> Flow[ClientWorld, list[smcp.SessionInfo]]:
    """The Computers in the Agent's office."""
    request = smcp.ListRoomReq(agent=agent, req_id=new_id(), office_id=office_id)
    members = read_roster((yield from Ask(smcp.LIST_ROOM_EVENT, request, timeout)), request["req_id"])
    return [member for member in members if member["role"] == "computer"]


def new_id() -> str:
    """An id for a request, which nobody guesses."""
    return os.urandom(16).hex()


# ------------------------------------------------------------------------------------------------------------ documents


def document_uri(uri: str, sub_path: str | None = None, params: Mapping[str, str] | None = None) -> str:
    """The address of a document, or of a page or element in it, from any address inside that document.

    Raises:
        InvalidDPEUriError: `uri` is not the address of a document.
    """
    address = parse_dpe_uri(uri)
    if address.doc_ref is None:
        raise InvalidDPEUriError(f"{uri}: names no document")
    further = {key: value for key, value in address.query_params.items() if key not in QUERY_KEYS}
    return build_dpe_uri(address.host, address.doc_ref, sub_path, further | dict(params or {}))


def pages_uri(uri: str, offset: int, limit: int) -> str:
    """The address of a document with its page index."""
    return document_uri(uri, None, {"depth": "pages", "offset": str(offset), "limit": str(limit)})


def page_uri(uri: str, page_index: int, format: str, categories: Sequence[str] | None) -> str:
    """The address of a page."""
    params = {"format": format} if format != "json" else {}
    if categories is not None:
        params["categories"] = ",".join([categories] if isinstance(categories, str) else categories)
    return document_uri(uri, f"pages/{page_index}", params)


def element_uri(uri: str, element_id: str, format: str) -> str:
    """The address of an element."""
    return document_uri(uri, f"elements/{element_id}", {"format": format} if format != "json" else None)


def page_count(document: Mapping[str, Any]) -> int:
    """How many pages a document says it has.

    Raises:
        InvalidAnswerError: it does not say.
    """
    count = document.get("page_count")
    if type(count) is not int or count < 0:
        raise InvalidAnswerError("page_count: a number is expected")
    return count


def read_body(uri: str, answer: smcp.ReadResourceRet) -> dict[str, Any]:
    """What a `dpe://` address holds, as an object; of any other address the answer as it came.

    A server that answers mere markdown or text is read as if it had put it into the envelope of the protocol.
    """
    contents = answer["contents"]
    text = contents[0].get("text") if len(contents) == 1 else None
    if text is None or not is_dpe_uri(uri):
        return cast("dict[str, Any]", answer)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        return cast("dict[str, Any]", body)
    return _envelope(uri, text, str(contents[0].get("mimeType")))


def _envelope(uri: str, text: str, mime_type: str) -> dict[str, Any]:
    address = parse_dpe_uri(uri)
    envelope: dict[str, Any] = {"uri": uri, "title": address.doc_ref or address.host}
    if address.doc_ref is not None:
        envelope["doc_ref"] = address.doc_ref
    if address.page_index is not None:
        envelope["page_index"] = address.page_index
    if address.element_id is not None:
        envelope["element_id"] = address.element_id
    is_markdown = address.query_params.get("format") == "markdown" or mime_type.startswith("text/markdown")
    envelope["content_markdown" if is_markdown else "content_text"] = text
    return envelope
