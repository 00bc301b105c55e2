"""Translates the configuration of an MCP server from the keys of other hosts to ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from a2c_smcp.computer.config.oauth import OAuthParameters
from a2c_smcp.utils.problems import meant

_ALLOWED = ("autoApprove", "alwaysAllow")
"""Keys of other hosts for tools that run without confirmation; `*` is every tool."""
_LOGIN_KEYS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "clientMetadataUrl": "client_metadata_url",
    "redirectUri": "redirect_url",
    "scope": "scopes",
}
"""Keys of other hosts for the settings of a login."""
_OUR_LOGIN_KEYS = tuple(OAuthParameters.model_fields)
_TIMES = ("timeout", "networkTimeout")
"""Keys of other hosts for the time limit of a call."""


def is_extension(data: Mapping[str, Any]) -> bool:
    """Whether an entry only configures an extension of Zed, which starts the server itself."""
    return data.get("source") == "extension" or ("settings" in data and not data.keys() & {"command", "url"})


def in_our_words(data: Mapping[str, Any], *, adopt: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """The server with our keys and types, and the reason for each key that is left out.

    With `adopt`, tools that the other host runs without confirmation do so here, too.
    """
    data = {key: value for key, value in data.items() if value is not None}
    left_out: dict[str, str] = {}
    for theirs, ours in {"serverUrl": "url", "transportType": "type"}.items():
        if theirs in data:
            data.setdefault(ours, data.pop(theirs))
    if isinstance(command := data.get("command"), dict):  # of older versions of Zed
        parts = cast("dict[str, Any]", command)
        data |= {"command": parts.get("path"), **{key: parts[key] for key in ("args", "env") if parts.get(key)}}
    if data.get("source") == "custom":
        del data["source"]
    if data.get("settings") == {}:
        del data["settings"]
    if isinstance(data.get("enabled"), bool):
        is_enabled = data.pop("enabled")
        data.setdefault("disabled", not is_enabled)
    if isinstance(data.get("disabledTools"), list):
        data["forbidden_tools"] = [*data.get("forbidden_tools", []), *data.pop("disabledTools")]
    # A file that is only read allows no tool: its owner trusted a program on this machine, not the Agents of an office.
    # An import is a decision of the owner, and lists what it allows.
    for key in _ALLOWED:
        allowed = data.pop(key, [])
        if not adopt and allowed:
            left_out[key] = "is not read; `a2c config import` turns it into auto_apply"
        elif allowed and not _allow(data, allowed):
            left_out[key] = "is not imported: a list of tool names is expected"
    for key in _TIMES if adopt else ():
        if data.pop(key, None) is not None:
            left_out[key] = "is not imported: the Agent that makes a call decides how long it may take"
    if isinstance(oauth := data.get("oauth"), dict):
        data["oauth"], unknown = _login(cast("dict[str, Any]", oauth))
        if unknown:
            left_out["oauth"] = f"is read without {', '.join(unknown)}"
    # Other hosts accept numbers and null here. Our models are strict, and accept only text.
    for key in ("env", "headers"):
        if isinstance(values := data.get(key), dict):
            named = cast("dict[str, Any]", values).items()
            data[key] = {name: _as_text(value) for name, value in named if value is not None}
    return data, left_out


def _login(oauth: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The login settings in our words, and the keys that have no counterpart."""
    ours = {_LOGIN_KEYS.get(key, key): value for key, value in oauth.items() if value is not None}
    port = ours.pop("callbackPort", None)
    if isinstance(port, int):
        ours.setdefault("redirect_url", f"http://localhost:{port}/callback")
    unknown = [key for key in ours if key not in OAuthParameters.model_fields and not meant(key, _OUR_LOGIN_KEYS)]
    return {key: value for key, value in ours.items() if key not in unknown}, unknown


def _allow(data: dict[str, Any], allowed: Any) -> bool:
    """Let these tools run without confirmation, unless the server has its own settings; whether the list is valid."""
    names: list[Any] = ["*"] if allowed is True else cast("list[Any]", allowed) if isinstance(allowed, list) else []
    if not names or not all(isinstance(name, str) for name in names):
        return False
    if "*" in names:
        data.setdefault("default_tool_meta", {"auto_apply": True})
    elif isinstance(data.get("tool_meta", {}), dict):
        data["tool_meta"] = {name: {"auto_apply": True} for name in names} | data.get("tool_meta", {})
    return True


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
