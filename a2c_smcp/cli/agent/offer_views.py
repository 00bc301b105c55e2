"""Resources, resource templates and prompts of MCP servers, for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from rich.console import RenderableType
from rich.text import Text

from a2c_smcp.cli.views import quote, resource, with_address
from a2c_smcp.smcp import GetPromptRet, Prompt, ResourceContents, ResourceInfo, ResourceTemplate
from a2c_smcp.utils.text import one_line, printable


def resources(found: Mapping[str, list[ResourceInfo]]) -> Iterable[RenderableType]:
    """Resources, with their types and MCP servers."""
    for computer, listed in found.items():
        for entry in listed:
            kind, title = entry.get("mime_type"), entry.get("title") or entry["name"]
            facts = f"{f'{kind}  ' if kind else ''}{entry['mcp_server']} on {computer}"
            yield with_address(str(title), facts, entry["uri"])
    if not any(found.values()):
        yield "no resources"


def templates(found: Mapping[str, list[ResourceTemplate]]) -> Iterable[RenderableType]:
    """The resource templates, with their MCP servers."""
    for computer, listed in found.items():
        for entry in listed:
            title = entry.get("title") or entry["name"]
            yield with_address(title, f"{entry['mcp_server']} on {computer}", entry["uriTemplate"])
    if not any(found.values()):
        yield "no resource templates"


def prompts(found: Mapping[str, list[Prompt]]) -> Iterable[RenderableType]:
    """The prompts with their arguments; those that are not required are in brackets."""
    for computer, listed in found.items():
        for entry in listed:
            words = [entry["name"]]
            for argument in entry.get("arguments") or ():
                word = f"{argument.get('name')}=…"
                words.append(word if argument.get("required") is True else f"[{word}]")
            # The owner's name of the server is first: a name that a server chooses could end like one.
            place = f"{one_line(entry['mcp_server'])} on {one_line(computer)}  "
            yield from quote(one_line(" ".join(words)), place)
            if text := entry.get("description") or entry.get("title"):
                yield from quote(str(text))
    if not any(found.values()):
        yield "no prompts"


def messages(answer: GetPromptRet) -> Iterable[RenderableType]:
    """The messages of a prompt."""
    if description := answer.get("description"):
        yield Text(printable(str(description)), "dim")
    for message in answer["messages"]:
        yield Text(one_line(str(message.get("role"))), "bold")
        content: Any = message.get("content")
        for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
            yield from _part(cast("dict[str, Any]", part) if isinstance(part, dict) else {})


def _part(part: dict[str, Any]) -> Iterable[RenderableType]:
    match part:
        case {"type": "text", "text": str(words)}:
            yield Text(printable(words))
        case {"type": "resource"} if isinstance(held := part.get("resource"), dict):
            yield from resource([cast("ResourceContents", held)])
        case {"type": "resource_link", "uri": str(uri)}:
            yield with_address(str(part.get("title") or part.get("name") or ""), "", uri)
        case {"data": str(data)}:
            # Base64 has four characters for three bytes.
            yield Text(printable(f"[{part.get('mimeType') or 'binary'}, {len(data) * 3 // 4} bytes]"), "dim")
        case _:
            yield Text(printable(f"[{part.get('type') or 'unknown content'}]"), "dim")
