"""The gateway's own tools: they find and call other tools, look at windows, find and read documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

FIND, CALL, READ = "find_tools", "call_tool", "read_tool"
LOOK, FIND_DOCUMENTS, READ_DOCUMENT = "look_at_desktop", "find_documents", "read_document"
NAMES = (FIND, CALL, READ, LOOK, FIND_DOCUMENTS, READ_DOCUMENT)

DEFAULT_FOUND, MOST_FOUND = 8, 50
DEFAULT_TOKENS, MOST_TOKENS = 4_000, 100_000

_READS = {"readOnlyHint": True}


def _tool(
    name: str, description: str, properties: dict[str, Any], required: Sequence[str], **more: Any
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema, **more}


_CALLED: dict[str, Any] = {
    "name": {"type": "string", "description": "The name that find_tools gave."},
    "arguments": {"type": "object", "description": "The arguments, as the tool's schema says."},
}

_FIND = _tool(
    FIND,
    "Find tools on the computers of this office by what they do. Gives the best matches with their parameters (JSON "
    "schema) and the computers they run on. Then call one with call_tool, or with read_tool if it is read-only.",
    {
        "query": {"type": "string", "description": "What the tool should do, in a few words."},
        "limit": {
            "type": "integer", "minimum": 1, "maximum": MOST_FOUND, "description": f"How many; {DEFAULT_FOUND}.",
        },
    },
    ["query"],
    annotations=_READS,
)  # fmt: skip
_CALL = _tool(CALL, "Call a tool that find_tools found.", _CALLED, ["name"])
_READ = _tool(READ, "Call a tool that find_tools found and that is read-only.", _CALLED, ["name"], annotations=_READS)
_LOOK = _tool(
    LOOK,
    "See what the windows of the computers show now, the most important first. Without computer: of all.",
    {
        "window": {"type": "string", "description": "Only the window at this address."},
        "max_tokens": {
            "type": "integer",
            "minimum": 100,
            "maximum": MOST_TOKENS,
            "description": f"Show at most about this much; {DEFAULT_TOKENS}. What does not fit is listed.",
        },
        "since": {"type": "string", "description": "The cursor of an earlier look: what changed since is shown first."},
    },
    [],
    annotations=_READS,
)
_FIND_DOCUMENTS = _tool(
    FIND_DOCUMENTS,
    "Find documents (reports, sheets, slides, notes …) of the computers. With query: by what is written in them; gives "
    "the best places with text, page and address. With keywords: by title and summary. Without both: all, newest "
    "first, 20 at a time. Without computer: of all.",
    {
        "query": {"type": "string", "description": "Words to look for in the full text; goes without the others."},
        "keywords": {
            "type": "array", "items": {"type": "string"}, "description": "Any of these in title, keywords or summary.",
        },
        "file_type": {"type": "string", "description": "Only this type, such as pdf or xlsx."},
        "offset": {"type": "integer", "minimum": 0, "description": "Skip this many."},
    },
    [],
    annotations=_READS,
)  # fmt: skip
_READ_DOCUMENT = _tool(
    READ_DOCUMENT,
    "Read a document. With only its address: what it is, and which pages it has. With page: that page. With element: "
    "one table, picture or other element in full.",
    {
        "uri": {"type": "string", "description": "The dpe:// address, from find_documents."},
        "page": {"type": "integer", "minimum": 0, "description": "A page, counted from 0."},
        "element": {"type": "string", "description": "The id of an element."},
    },
    ["uri"],
    annotations=_READS,
)


def listed(form: Literal["merged", "search", "direct"], computers: Sequence[str]) -> list[dict[str, Any]]:
    """The tools of the gateway in a list of this form."""
    # In the direct form, an MCP server behind an office looks as it does without one.
    if form == "direct":
        return []
    finding = [_FIND, *(_with_computer(tool, computers) for tool in (_CALL, _READ))] if form == "search" else []
    return [*finding, *(_with_computer(tool, computers) for tool in (_LOOK, _FIND_DOCUMENTS, _READ_DOCUMENT))]


def _with_computer(tool: Mapping[str, Any], computers: Sequence[str]) -> dict[str, Any]:
    if len(computers) < 2:
        return dict(tool)
    choice = {"type": "string", "enum": list(computers), "description": "The computer to use."}
    schema = tool["inputSchema"]
    return {**tool, "inputSchema": {**schema, "properties": {"computer": choice, **schema["properties"]}}}
