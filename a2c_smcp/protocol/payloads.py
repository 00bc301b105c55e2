"""The checks of the payloads of requests.

The validators are built once, at import: building one takes milliseconds, running one microseconds. A payload is
checked and not rewritten, so that what is forwarded is what was sent. The one exception is a `timeout`.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from a2c_smcp import smcp
from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.protocol.limits import Limits

_SHAPES: dict[str, Any] = {
    smcp.TOOL_CALL_EVENT: smcp.ToolCallReq,
    smcp.GET_TOOLS_EVENT: smcp.GetToolsReq,
    smcp.GET_CONFIG_EVENT: smcp.GetComputerConfigReq,
    smcp.GET_DESKTOP_EVENT: smcp.GetDeskTopReq,
    smcp.GET_FINDER_EVENT: smcp.GetFinderReq,
    smcp.READ_RESOURCE_EVENT: smcp.ReadResourceReq,
    smcp.LIST_RESOURCE_TEMPLATES_EVENT: smcp.ListResourceTemplatesReq,
    smcp.COMPLETE_EVENT: smcp.CompleteReq,
    smcp.LIST_PROMPTS_EVENT: smcp.ListPromptsReq,
    smcp.GET_PROMPT_EVENT: smcp.GetPromptReq,
    smcp.GET_RESOURCES_EVENT: smcp.GetResourcesReq,
    smcp.WATCH_RESOURCE_EVENT: smcp.WatchResourceReq,
    smcp.GET_BLOB_EVENT: smcp.GetBlobReq,
    smcp.PUT_BLOB_EVENT: smcp.PutBlobReq,
    smcp.GET_SKILLS_EVENT: smcp.GetSkillsReq,
    smcp.GET_SKILL_EVENT: smcp.GetSkillReq,
    smcp.JOIN_OFFICE_EVENT: smcp.EnterOfficeReq,
    smcp.LEAVE_OFFICE_EVENT: smcp.LeaveOfficeReq,
    smcp.UPDATE_CONFIG_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_TOOL_LIST_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_DESKTOP_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_FINDER_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_RESOURCES_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_PROMPTS_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_SKILLS_EVENT: smcp.UpdateComputerConfigReq,
    smcp.UPDATE_RESOURCE_EVENT: smcp.UpdateResourceReq,
    smcp.CANCEL_TOOL_CALL_EVENT: smcp.CancelToolCallReq,
    smcp.TOOL_CALL_PROGRESS_EVENT: smcp.ToolCallProgress,
    smcp.TOOL_CALL_LOG_EVENT: smcp.ToolCallLog,
    smcp.LIST_ROOM_EVENT: smcp.ListRoomReq,
}
KNOWN_EVENTS = frozenset(_SHAPES)
_validators = {event: TypeAdapter[Any](shape).validator for event, shape in _SHAPES.items()}
# The Server relays `client:*` events that it does not know, so that Agents and Computers can add events without it. It
# needs the three routing fields for that.
_any_client_event = TypeAdapter(smcp.AgentCallData).validator
_any_update = TypeAdapter(smcp.UpdateComputerConfigReq).validator
_UPDATE = re.compile("server:update_[a-z_]{1,64}")

_ROUTING = ("agent", "computer", "req_id")
_IDENTIFIERS = {
    event: tuple(field for field in (*_ROUTING, "name", "office_id", "tool_name") if field in shape.__required_keys__)
    for event, shape in _SHAPES.items()
}
_FIELDS = {event: tuple(shape.__annotations__) for event, shape in _SHAPES.items()}
# Names appear in logs and on terminals, where control characters (C0, C1) could forge lines and colours. A lone
# surrogate passes Python's own JSON parser, and cannot be written as UTF-8.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_update(event: str) -> bool:
    """Whether an event announces a change of the Computer that sends it. The Server need not know of what."""
    return _UPDATE.fullmatch(event) is not None


def check_payload(event: str, data: Any, limits: Limits) -> dict[str, Any]:
    """Check a payload against the shape of its event; an unknown event needs only the routing fields.

    It is returned as it is, except for a `timeout` that is not whole, which is rounded up in a copy.

    Raises:
        MalformedRequestError: naming each field that is wrong, never its value.
    """
    # Strict: otherwise pydantic accepts "5" for a number and returns 5 in a copy. The copy is not used, since the
    # request is forwarded as it came, and the Computer would get the string.
    validator = _validators.get(event)
    fields = _IDENTIFIERS.get(event)
    if validator is None or fields is None:
        validator, fields = (_any_update, ("computer",)) if is_update(event) else (_any_client_event, _ROUTING)
    try:
        validator.validate_python(data, strict=True)
    except ValidationError as error:
        # Here, and not before: nearly every payload is valid, and does not pay for those that are not.
        rounded = _with_whole_timeout(event, data)
        if rounded is not None:
            return check_payload(event, rounded, limits)
        raise MalformedRequestError("; ".join(_explain(error))) from None
    payload = cast("dict[str, Any]", data)
    for field in fields:
        _check_identifier(field, payload[field], limits.name_length)
    return payload


def known_fields(event: str, data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a payload that its event defines."""
    return {field: data[field] for field in _FIELDS[event] if field in data}


def check_timeout(event: str, data: dict[str, Any], limits: Limits) -> int:
    """The seconds a relayed request may take. Only a tool call must name them; any other may.

    Raises:
        MalformedRequestError: the `timeout` of a tool call is not within the limits.
    """
    # For any other event, `timeout` is an addition of ours. A value that is not usable is ignored: in an event that the
    # Server does not know, the field may mean something else.
    timeout = data.get("timeout")
    if type(timeout) is int and 1 <= timeout <= limits.tool_timeout:
        return timeout
    if event == smcp.TOOL_CALL_EVENT:
        raise MalformedRequestError(f"timeout: must be an integer 1–{limits.tool_timeout}")
    return limits.default_timeout


def _with_whole_timeout(event: str, data: Any) -> dict[str, Any] | None:
    """The payload of a tool call with its `timeout` rounded up: clients of other projects send 30.0 or 2.5."""
    if event != smcp.TOOL_CALL_EVENT or not isinstance(data, dict):
        return None
    payload = cast("dict[str, Any]", data)
    timeout = payload.get("timeout")
    if type(timeout) is not float or not math.isfinite(timeout):
        return None
    return {**payload, "timeout": math.ceil(timeout)}


def _check_identifier(field: str, value: Any, max_length: int) -> None:
    if not isinstance(value, str) or not value:
        raise MalformedRequestError(f"{field}: must be a non-empty string")
    if len(value) > max_length:
        raise MalformedRequestError(f"{field}: {len(value)} characters, at most {max_length} are allowed")
    if _CONTROL.search(value):
        raise MalformedRequestError(f"{field}: control characters are not allowed")


def _explain(error: ValidationError) -> list[str]:
    # Without the input, which may contain secrets, and at most eight problems: a large payload can have thousands.
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, problem['loc'])) or 'payload'}: {problem['msg']}" for problem in problems[:8]]
