"""Checks of the files and messages that a page shows, each by the code that reads it in use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from a2c_smcp import smcp
from a2c_smcp.computer.config.files import parse_config
from a2c_smcp.errors import from_payload, is_known_code
from a2c_smcp.protocol import answers
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.payloads import KNOWN_EVENTS, check_payload, check_timeout
from a2c_smcp.server.key_file import read_keys
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.results import from_wire

_NOTICES: dict[str, Any] = {
    smcp.ENTER_OFFICE_NOTIFICATION: smcp.EnterOfficeNotification,
    smcp.LEAVE_OFFICE_NOTIFICATION: smcp.LeaveOfficeNotification,
    smcp.UPDATE_CONFIG_NOTIFICATION: smcp.UpdateMCPConfigNotification,
    smcp.UPDATE_TOOL_LIST_NOTIFICATION: smcp.UpdateToolListNotification,
    smcp.UPDATE_DESKTOP_NOTIFICATION: smcp.UpdateDesktopNotification,
    smcp.UPDATE_FINDER_NOTIFICATION: smcp.UpdateFinderNotification,
    smcp.CANCEL_TOOL_CALL_NOTIFICATION: smcp.CancelToolCallNotification,
    smcp.TOOL_CALL_PROGRESS_NOTIFICATION: smcp.ToolCallProgress,
}
_ANSWERS: dict[str, Callable[[Any, str], Any]] = {
    smcp.GET_TOOLS_EVENT: answers.read_tools,
    smcp.GET_DESKTOP_EVENT: answers.read_desktop,
    smcp.GET_FINDER_EVENT: answers.read_finder,
    smcp.READ_RESOURCE_EVENT: answers.read_contents,
    smcp.GET_RESOURCES_EVENT: lambda ack, req_id: answers.read_resources(ack, req_id, None),
    smcp.LIST_PROMPTS_EVENT: answers.read_prompts,
    smcp.GET_PROMPT_EVENT: answers.read_prompt,
    smcp.GET_CONFIG_EVENT: answers.read_config,
    smcp.LIST_RESOURCE_TEMPLATES_EVENT: answers.read_templates,
    smcp.COMPLETE_EVENT: answers.read_completion,
    smcp.LIST_ROOM_EVENT: lambda ack, req_id: {"sessions": answers.read_roster(ack, req_id), "req_id": req_id},
}


def check_json(title: str, text: str) -> None:
    """A Computer's configuration, a request, a notice, an answer or an error, by its title."""
    if title.endswith(".json"):
        assert not parse_config(text, environment={}).warnings
        return
    data: Any = json.loads(text)
    event = title.removeprefix("ack of ")
    if title == "an error":
        error = from_payload(data)
        assert error is not None
        assert is_known_code(error.code)
    elif title in KNOWN_EVENTS:
        check_timeout(title, check_payload(title, data, Limits()), Limits())
    elif title in _NOTICES:
        TypeAdapter(_NOTICES[title]).validate_python(data, strict=True)
    elif event == smcp.TOOL_CALL_EVENT:
        assert from_wire(data).content
    else:
        assert _ANSWERS[event](data, data["req_id"]) == data, "a reader would leave something out"


def check_toml(title: str, text: str, folder: Path) -> None:
    """The settings of a Server, or its keys, by the name of the file."""
    file = folder / Path(title).name
    file.write_text(text, "utf-8")
    if file.name == "keys.toml":
        assert read_keys(file)
    else:
        assert file.name == "server.toml"
        ServerSettings.load({}, file)
