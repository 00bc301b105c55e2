"""How a client reads the acks of its requests. `dialects` has how the Server writes them.

The other side may be any implementation in any version. The envelope of an answer must be valid. An invalid item in a
list is left out with a warning, so that one bad tool does not cost the others.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any, NoReturn, cast

from a2c_smcp import smcp
from a2c_smcp.errors import (
    InternalError,
    InvalidAnswerError,
    NotSupportedError,
    RateLimitedError,
    SMCPError,
    ToolFailedError,
    ToolTimedOutError,
    error_for,
    from_payload,
)
from a2c_smcp.utils.result_meta import CANCELLED, ERROR_CODE, TIMED_OUT, TIMEOUT

logger = logging.getLogger(__name__)

_SUMMARY_FIELDS = ("doc_ref", "uri", "file_uri", "file_type", "title", "server")


def timed_out(seconds: float) -> dict[str, Any]:
    """The result of a tool call that timed out in the Agent after `seconds`, in the form of a Computer's answer."""
    return {
        "content": [{"type": "text", "text": "Tool call timeout"}],
        "isError": True,
        "structuredContent": {"error": f"no result within {seconds:g} s", "error_type": "ToolTimedOutError"},
        # Two marks for the same: `timeout` is that of 0.2.0, `a2c_timeout` that of later versions.
        "meta": {TIMEOUT: True, TIMED_OUT: True, ERROR_CODE: ToolTimedOutError.code},
    }


def failure_in(ack: Any) -> SMCPError | None:
    """The error that an ack carries: an error envelope, or the result of a tool that failed; None for a success."""
    if not isinstance(ack, dict):
        return None
    answer = cast("dict[str, Any]", ack)
    if answer.get("isError") is not True:
        return _any_error(answer)
    meta, structured = answer.get("meta"), answer.get("structuredContent")
    code = cast("dict[str, Any]", meta).get(ERROR_CODE) if isinstance(meta, dict) else None
    reason = cast("dict[str, Any]", structured).get("error") if isinstance(structured, dict) else None
    # `type(…) is int` and not `isinstance`: JSON's `true` is an `int` in Python, and would become the code 1.
    return error_for(code if type(code) is int else ToolFailedError.code, reason if isinstance(reason, str) else None)


def was_cancelled(ack: Any) -> bool:
    """Whether an ack says that the call was cancelled where it ran."""
    meta: Any = cast("dict[str, Any]", ack).get("meta") if isinstance(ack, dict) else None
    return isinstance(meta, dict) and cast("dict[str, Any]", meta).get(CANCELLED) is True


def retry_after(ack: Any) -> float | None:
    """Seconds after which a request that exceeded the rate limit may be retried; None for any other answer."""
    error: Any = cast("dict[str, Any]", ack).get("error") if isinstance(ack, dict) else None
    if not isinstance(error, dict) or cast("dict[str, Any]", error).get("code") != RateLimitedError.code:
        return None
    details: Any = cast("dict[str, Any]", error).get("details")
    seconds: Any = cast("dict[str, Any]", details).get("retry_after") if isinstance(details, dict) else None
    # The value decides how long a client sleeps. Zero or less would make it retry in a tight loop, and 1e999, which is
    # valid JSON, is infinity in Python.
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return float(seconds) if is_number and 0 < seconds < math.inf else None


# -------------------------------------------------------------------------------------------------------------- reading


def read_object(ack: Any, req_id: str | None = None) -> dict[str, Any]:
    """The object in an ack.

    Raises:
        SMCPError: the ack is an error (nested, flat, or only a text); the class is the one that owns the code.
        NotSupportedError: the ack is null: the peer does not know the event.
        InvalidAnswerError: the ack is not an object, or answers another request.
    """
    if ack is None:
        raise NotSupportedError
    if not isinstance(ack, dict):
        raise InvalidAnswerError(f"an object is expected, not {_kind_of(ack)}")
    answer = cast("dict[str, Any]", ack)
    error = _any_error(answer)
    if error is not None:
        raise error
    # A missing req_id is accepted: the ack number of Socket.IO already ties the answer to its request. A wrong one
    # means that the peer mixed up two requests.
    if req_id is not None and answer.get("req_id", req_id) != req_id:
        raise InvalidAnswerError("the answer belongs to another request: its req_id is not ours")
    return answer


def read_tools(ack: Any, req_id: str, known_digest: str | None = None) -> smcp.GetToolsRet:
    """The answer to `client:get_tools`. It may leave out the list with the digest `known_digest`."""
    answer = read_object(ack, req_id)
    if (
        answer.get("unchanged") is True
        and known_digest is not None
        and answer.get("digest", known_digest) == known_digest
    ):
        return {"tools": [], "unchanged": True, "digest": known_digest, "req_id": req_id}
    found = smcp.GetToolsRet(tools=_items(answer, "tools", _tool), req_id=req_id)
    if isinstance(digest := answer.get("digest"), str):
        found["digest"] = digest
    return found


def read_desktop(ack: Any, req_id: str) -> smcp.GetDeskTopRet:
    """The answer to `client:get_desktop`."""
    answer = read_object(ack, req_id)
    return {"desktops": _items(answer, "desktops", _text), "req_id": req_id}


def read_finder(ack: Any, req_id: str) -> smcp.GetFinderRet:
    """The answer to `client:get_finder`."""
    answer = read_object(ack, req_id)
    documents = _items(answer, "documents", _summary)
    total = answer.get("total_count")
    if type(total) is not int or total < 0:
        raise InvalidAnswerError("total_count: a number is expected")
    found: smcp.GetFinderRet = {"documents": documents, "total_count": total, "req_id": req_id}
    if type(unindexed := answer.get("unindexed_count")) is int:
        found["unindexed_count"] = unindexed
    return found


def read_contents(ack: Any, req_id: str) -> smcp.ReadResourceRet:
    """The answer to `client:read_resource`."""
    answer = read_object(ack, req_id)
    return {"contents": _items(answer, "contents", _part), "req_id": req_id}


def read_templates(ack: Any, req_id: str) -> smcp.ListResourceTemplatesRet:
    """The answer to `client:list_resource_templates`."""
    answer = read_object(ack, req_id)
    found = smcp.ListResourceTemplatesRet(templates=_items(answer, "templates", _template), req_id=req_id)
    if isinstance(cursor := answer.get("next_cursor"), str):
        found["next_cursor"] = cursor
    return found


def read_prompts(ack: Any, req_id: str) -> smcp.ListPromptsRet:
    """The answer to `client:list_prompts`."""
    answer = read_object(ack, req_id)
    found = smcp.ListPromptsRet(prompts=_items(answer, "prompts", _prompt), req_id=req_id)
    if isinstance(cursor := answer.get("next_cursor"), str):
        found["next_cursor"] = cursor
    return found


def read_prompt(ack: Any, req_id: str) -> smcp.GetPromptRet:
    """The answer to `client:get_prompt`."""
    answer = read_object(ack, req_id)
    messages = _items(answer, "messages", _message)
    return cast("smcp.GetPromptRet", {**answer, "messages": messages, "req_id": req_id})


def read_resources(ack: Any, req_id: str, mcp_server: str | None) -> smcp.GetResourcesRet:
    """The answer to `client:get_resources` about one MCP server, or about all."""
    answer = read_object(ack, req_id)
    found = smcp.GetResourcesRet(resources=_items(answer, "resources", _resource_of(mcp_server)), req_id=req_id)
    if isinstance(cursor := answer.get("next_cursor"), str):
        found["next_cursor"] = cursor
    return found


def read_skills(ack: Any, req_id: str) -> list[smcp.SkillReference]:
    """The answer to `client:get_skills`."""
    return _items(read_object(ack, req_id), "skills", _skill)


def read_skill(ack: Any, req_id: str) -> smcp.GetSkillRet:
    """The answer to `client:get_skill`."""
    answer = read_object(ack, req_id)
    for field, kind in (("name", str), ("rel_path", str), ("mime_type", str), ("total_size", int), ("sha256", str)):
        if type(answer.get(field)) is not kind:
            raise InvalidAnswerError(f"{field}: a {'number' if kind is int else 'text'} is expected")
    if isinstance(answer.get("body"), str) == isinstance(answer.get("blob_handle"), str):
        raise InvalidAnswerError("either body or blob_handle is expected, and a text")
    # Some implementations write null for the one that is absent.
    found = {key: value for key, value in answer.items() if key not in ("body", "blob_handle") or value is not None}
    return cast("smcp.GetSkillRet", {**found, "req_id": req_id})


def read_completion(ack: Any, req_id: str) -> smcp.CompleteRet:
    """The answer to `client:complete`."""
    completion = read_object(ack, req_id).get("completion")
    if not isinstance(completion, dict):
        raise InvalidAnswerError("completion: an object is expected")
    found = cast("dict[str, Any]", completion)
    values = _items(found, "values", _text)
    return {"completion": cast("smcp.Completion", {**found, "values": values}), "req_id": req_id}


def read_config(ack: Any, req_id: str) -> smcp.GetComputerConfigRet:
    """The answer to `client:get_config`."""
    answer = read_object(ack, req_id)
    if not isinstance(answer.get("servers"), dict):
        raise InvalidAnswerError("servers: an object is expected")
    return cast("smcp.GetComputerConfigRet", answer)


def read_roster(ack: Any, req_id: str) -> list[smcp.SessionInfo]:
    """The answer to `server:list_room`."""
    return _items(read_object(ack, req_id), "sessions", _session)


def read_two_values(ack: Any) -> str | None:
    """The reason why a join or leave was rejected; None if it was accepted.

    Servers send two or three ack arguments, one array of them, or an error object; `read_server_info` reads the third.

    Raises:
        NotSupportedError: the answer is null.
        InvalidAnswerError: the answer says neither yes nor no.
    """
    if ack is None:
        raise NotSupportedError
    # python-socketio hands over several ack arguments as a tuple, and one array as a list.
    values = tuple(cast("list[Any]", ack)) if isinstance(ack, list | tuple) else (ack,)
    if values and values[0] is True:
        return None
    reason: Any = values[1] if len(values) > 1 and values[0] is False else None
    for value in (*values[:1], reason):
        error = _any_error(cast("dict[str, Any]", value)) if isinstance(value, dict) else None
        if error is not None:
            return f"{error.message} ({error.code})"
    if len(values) > 1 and values[0] is False:
        return reason if isinstance(reason, str) and reason else "refused"
    raise InvalidAnswerError("the Server gave no valid answer")


def _any_error(answer: dict[str, Any]) -> SMCPError | None:
    """The error in an answer, also in the forms that other implementations send: `{code, message}`, `{error: text}`."""
    if (error := from_payload(answer)) is not None:
        return error
    code, message, text = answer.get("code"), answer.get("message"), answer.get("error")
    if type(code) is int and isinstance(message, str):
        details = answer.get("details")
        return error_for(code, message, cast("dict[str, Any]", details) if isinstance(details, dict) else None)
    return InternalError(text) if isinstance(text, str) and text else None


def _items(answer: dict[str, Any], field: str, check: Callable[[Any], Any]) -> list[Any]:
    listed = answer.get(field)
    if not isinstance(listed, list):
        raise InvalidAnswerError(f"{field}: a list is expected, not {_kind_of(listed)}")
    found: list[Any] = []
    for position, item in enumerate(cast("list[Any]", listed)):
        try:
            found.append(check(item))
        except _Unusable as problem:
            # Position and problem, never the item itself: it may be large, or contain a secret.
            logger.warning("an answer's %s.%d is left out: %s", field, position, problem)
    return found


# Not a ValueError, so that `_items` leaves out invalid items only, and does not hide a mistake in a check.
class _Unusable(Exception):
    pass


def _fail(problem: str) -> NoReturn:
    raise _Unusable(problem)


def _fields(item: Any, *texts: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        _fail(f"an object is expected, not {_kind_of(item)}")
    found = cast("dict[str, Any]", item)
    for name in texts:
        if not isinstance(found.get(name), str):
            _fail(f"{name}: a text is expected, not {_kind_of(found.get(name))}")
    return found


def _tool(item: Any) -> dict[str, Any]:
    tool = _fields(item, "name")
    if not isinstance(tool.get("params_schema"), dict):
        _fail("params_schema: an object is expected")
    # MCP makes both fields optional, and simple Computers pass tools on as they are. They are required here: programs
    # may index them.
    description, returned = tool.get("description"), tool.get("return_schema")
    if isinstance(description, str) and "return_schema" in tool:
        return tool
    return {**tool, "description": description if isinstance(description, str) else "", "return_schema": returned}


def _text(item: Any) -> str:
    return item if isinstance(item, str) else _fail(f"a text is expected, not {_kind_of(item)}")


def _summary(item: Any) -> dict[str, Any]:
    summary = _fields(item, *_SUMMARY_FIELDS)
    return summary if type(summary.get("page_count")) is int else _fail("page_count: a number is expected")


def _part(item: Any) -> dict[str, Any]:
    part = _fields(item, "uri")
    if not isinstance(part.get("text"), str) and not isinstance(part.get("blob"), str):
        _fail("neither text nor blob")
    return part


def _template(item: Any) -> dict[str, Any]:
    return _fields(item, "uriTemplate", "name", "mcp_server")


def _prompt(item: Any) -> dict[str, Any]:
    return _fields(item, "name", "mcp_server")


def _message(item: Any) -> dict[str, Any]:
    return _fields(item, "role")


def _resource_of(mcp_server: str | None) -> Callable[[Any], dict[str, Any]]:
    def check(item: Any) -> dict[str, Any]:
        resource = _fields(item, "uri", "name")
        if mcp_server is not None and "mcp_server" not in resource:
            resource = {**resource, "mcp_server": mcp_server}
        return _fields(resource, "mcp_server")

    return check


def _skill(item: Any) -> dict[str, Any]:
    return _fields(item, "name", "source", "path", "description")


def _session(item: Any) -> dict[str, Any]:
    return _fields(item, "name", "role")


def _kind_of(value: Any) -> str:
    return {"NoneType": "null", "str": "a text", "list": "a list", "dict": "an object"}.get(
        type(value).__name__, f"a {type(value).__name__}"
    )
