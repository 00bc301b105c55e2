"""npm's `server-everything`: what to call and fetch to see all that it offers, and how to compare it."""

from __future__ import annotations

import base64
import contextlib
import re
from typing import Any, cast

FILE: dict[str, Any] = {"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8="}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"message": "hello, Ünïcode"}),
    ("get-sum", {"a": 2, "b": 3}),
    ("get-sum", {"a": "x"}),
    ("get-tiny-image", {}),
    *[("get-structured-content", {"location": city}) for city in ("New York", "Chicago", "Los Angeles")],
    *[
        ("get-annotated-message", {"messageType": kind, "includeImage": kind == "error"})
        for kind in ("error", "success", "debug")
    ],
    ("get-resource-links", {"count": 3}),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
    ("get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
    ("gzip-file-as-resource", {**FILE, "outputType": "resource"}),
    ("gzip-file-as-resource", {**FILE, "outputType": "resourceLink"}),
    *[("toggle-simulated-logging", {})] * 2,
    *[("toggle-subscriber-updates", {})] * 2,
    ("simulate-research-query", {"topic": "MCP"}),
]
"""Calls whose results can be compared as they are. A tool that switches something is called twice."""
ENVIRONMENT = "get-env"
LONG: tuple[str, dict[str, Any]] = ("trigger-long-running-operation", {"duration": 0.3, "steps": 3})
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("trigger-elicitation-request", {}),
    ("trigger-url-elicitation", {"url": "https://example.com/x", "message": "Log in", "elicitationId": "e1"}),
]
TOOLS = {tool for tool, _ in (*CALLS, LONG, *QUESTIONS)} | {ENVIRONMENT}
"""All tools of the server: those for sampling and roots exist only for clients that offer these."""
PROMPTS: dict[str, dict[str, str]] = {
    "simple-prompt": {},
    "args-prompt": {"city": "Paris"},
    "completable-prompt": {"department": "Engineering", "name": "Alice"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}
TEMPLATES = {f"demo://resource/dynamic/{kind}/{{resourceId}}" for kind in ("text", "blob")}
COMPLETIONS: list[tuple[dict[str, Any], dict[str, str], dict[str, str]]] = [
    ({"type": "ref/prompt", "name": "completable-prompt"}, {"name": "department", "value": "E"}, {}),
    ({"type": "ref/prompt", "name": "completable-prompt"}, {"name": "name", "value": ""}, {"department": "Sales"}),
    ({"type": "ref/prompt", "name": "resource-prompt"}, {"name": "resourceType", "value": ""}, {}),
    ({"type": "ref/prompt", "name": "resource-prompt"}, {"name": "resourceId", "value": "7"}, {}),
    *[({"type": "ref/resource", "uri": uri}, {"name": "resourceId", "value": "8"}, {}) for uri in sorted(TEMPLATES)],
]
"""What can be completed: a prompt's argument that depends on another one, and the variables of templates."""


def filled(question: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question: its form with a name and the defaults, in the order of the fields."""
    if "url" in question:
        return {"action": "accept"}
    fields = question["requestedSchema"]["properties"]
    given = {"name": "Ada"}
    content = {name: given.get(name, field.get("default")) for name, field in fields.items()}
    return {"action": "accept", "content": {name: value for name, value in content.items() if value is not None}}


def timeless(value: Any) -> Any:
    """JSON data without the times that the server writes into its texts."""
    match value:
        case dict():
            return {key: timeless(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [timeless(each) for each in cast("list[Any]", value)]
        case str() if len(value) < 300:
            return re.sub(r"\d+:\d+:\d+( [AP]M)?", "TIME", _decoded(value))
        case _:
            return value


def _decoded(text: str) -> str:
    """A text, or the text inside a blob of the server, which has the time in it as well."""
    with contextlib.suppress(ValueError):
        return base64.b64decode(text, validate=True).decode()
    return text
