"""Checks of the files and messages that a page shows, each by the code that reads it in use."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from a2c_documents.recognition.answers import checked
from a2c_smcp import smcp
from a2c_smcp.computer.config.files import parse_config
from a2c_smcp.errors import from_payload, is_known_code
from a2c_smcp.gateway.catalogue import Catalogue
from a2c_smcp.gateway.described import Reader
from a2c_smcp.gateway.host_entries import HOSTS, Address, Command
from a2c_smcp.gateway.own_tools import found_tools
from a2c_smcp.gateway.profile import Profile
from a2c_smcp.gateway.view import new_names
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
    smcp.TOOL_CALL_LOG_NOTIFICATION: smcp.ToolCallLog,
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
    smcp.GET_SKILLS_EVENT: lambda ack, req_id: {"skills": answers.read_skills(ack, req_id), "req_id": req_id},
    smcp.GET_SKILL_EVENT: answers.read_skill,
    smcp.PUT_BLOB_EVENT: answers.read_object,
    smcp.LIST_ROOM_EVENT: lambda ack, req_id: {"sessions": answers.read_roster(ack, req_id), "req_id": req_id},
}

_HOST_FILES = {
    "claude_desktop_config.json": "claude-desktop",
    "~/.claude.json": "claude-code",
    "~/.cursor/mcp.json": "cursor",
    "User/mcp.json": "vscode",
    "~/.gemini/settings.json": "gemini-cli",
    "~/.codex/config.toml": "codex",
}
"""The hosts whose files the pages show, by the title; it may end with `, with --http`."""
_COMMAND = Command(
    "/home/ann/.local/bin/a2c",
    ("mcp", "--url", "https://hub.example.com", "--office", "acme-demo"),
    {"A2C_API_KEY": "my-secret"},
)
_ADDRESS = Address("https://hub.example.com/mcp/acme-demo", {"Authorization": "Bearer my-secret"})
"""What the pages add to a host."""


def _check_host(title: str, data: Any) -> bool:
    """Whether a page shows the file of a host; if so, it is what `a2c mcp install` writes."""
    place, separator, _ = title.partition(", with --http")
    if place not in _HOST_FILES:
        return False
    host = HOSTS[_HOST_FILES[place]]
    assert data == {host.section: {"a2c": host.entry(_ADDRESS if separator else _COMMAND)}}
    return True


def _catalogue() -> Catalogue:
    """The tools of the office that the pages have as an example."""
    schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    tool = smcp.SMCPTool(
        name="restart_service", description="Restart a service.", params_schema=schema, return_schema=None, meta={}
    )
    offered = {"build-1": [tool], "build-2": [tool]}
    return Catalogue(Profile("merged"), Reader().read(offered), new_names())


def _merged_tool() -> dict[str, Any]:
    return _catalogue().listed[-1]


def _found_tools() -> Any:
    return found_tools(_catalogue(), "restart", 1)


_SHOWN_TOOLS: dict[str, Callable[[], Any]] = {
    "restart_service in the mode merged": _merged_tool,
    "restart_service in a result of find_tools": _found_tools,
}


def check_json(title: str, text: str) -> None:
    """The configuration of a Computer or a host, a request, a notice, an answer or an error, by its title."""
    if title in _SHOWN_TOOLS:
        assert json.loads(text) == _SHOWN_TOOLS[title]()
    elif title == "request to a recognizer":
        assert set(json.loads(text)) == {"picture", "type"}
    elif title == "answer of a recognizer":
        assert checked(text.encode())["lines"]
    elif title.endswith(".json") and title not in _HOST_FILES:
        assert not parse_config(text, environment={}).warnings
    elif not _check_host(title, json.loads(text)):
        _check_message(title, json.loads(text))


def _check_message(title: str, data: Any) -> None:
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
    """The settings of a Server, its keys, or the configuration of a host, by the title."""
    if _check_host(title, tomllib.loads(text)):
        return
    file = folder / Path(title).name
    file.write_text(text, "utf-8")
    if file.name == "keys.toml":
        assert read_keys(file)
    else:
        assert file.name == "server.toml"
        ServerSettings.load({}, file)
