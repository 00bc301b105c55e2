"""Tables and trees for a person who is an Agent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from a2c_smcp.cli.views import escape
from a2c_smcp.protocol.upkeep import Change
from a2c_smcp.smcp import DPEDocumentSummary, ResourceTemplate, SMCPTool
from a2c_smcp.utils.text import printable
from a2c_smcp.utils.tool_meta import tool_meta

_WORDS = {
    "enter": "came",
    "leave": "left",
    "tools": "has tools",
    "config": "has another configuration",
    "desktop": "shows something else",
    "finder": "has other documents",
    "disconnected": "the connection to the Server is lost; trying to come back",
    "rejoined": "back in the office",
}


NOBODY = "no Computer is in the office"


def computers(tools: Mapping[str, int | None]) -> RenderableType:
    """The Computers in the office, and how many tools each has, where that is known."""
    table = Table("computer", Column("tools", justify="right"), box=None)
    for computer, count in tools.items():
        table.add_row(escape(computer), str(count) if count is not None else "?")
    return table if table.row_count else NOBODY


def tools(offered: Mapping[str, list[SMCPTool]]) -> RenderableType:
    """The tools of Computers; parameters that may be left out are dim."""
    table = Table(
        Column("computer", no_wrap=True),
        Column("tool", no_wrap=True),
        "asks first",
        Column("parameters", max_width=36),
        Column("description", no_wrap=True, overflow="ellipsis", ratio=1),
        box=None,
        expand=True,
    )
    for computer, entries in offered.items():
        for tool in entries:
            description = tool["description"].strip().partition("\n")[0]
            asks = "no" if is_automatic(tool) else "yes"
            table.add_row(
                escape(computer), escape(tool["name"]), asks, _parameters(tool["params_schema"]), escape(description)
            )
    return table if table.row_count else "no tools"


def is_automatic(tool: SMCPTool) -> bool:
    """Whether the tool runs without asking the Computer's owner."""
    return tool_meta(tool).get("auto_apply") is True


def _parameters(schema: dict[str, Any]) -> str:
    required = cast("list[Any]", found) if isinstance(found := schema.get("required"), list) else []
    properties = cast("dict[str, Any]", found) if isinstance(found := schema.get("properties"), dict) else {}
    return " ".join(escape(name) if name in required else f"[dim]{escape(name)}[/]" for name in properties)


def documents(found: list[tuple[str, DPEDocumentSummary]], total: int) -> RenderableType:
    """Documents, and where they are."""
    if not found:
        return f"none of {total}" if total else "no documents"
    table = Table("title", "type", "pages", "changed", "computer", Column("uri", overflow="fold"), box=None)
    for computer, entry in found:
        changed = str(entry.get("last_modified") or "")[:10]
        cells = (entry["title"], entry["file_type"], str(entry["page_count"]), changed, computer, entry["uri"])
        table.add_row(*map(escape, cells))
    table.caption = f"{len(found)} of {total}" + (" (--all shows the rest)" if len(found) < total else "")
    return table


def templates(found: Mapping[str, list[ResourceTemplate]]) -> RenderableType:
    """Which addresses can be read, and of which MCP server."""
    table = Table("computer", "mcp server", "name", Column("template", overflow="fold"), box=None)
    for computer, listed in found.items():
        for entry in listed:
            cells = (computer, entry["mcp_server"], entry.get("title") or entry["name"], entry["uriTemplate"])
            table.add_row(*map(escape, cells))
    return table if table.row_count else "no resource templates"


def tree(document: Mapping[str, Any], pages: list[dict[str, Any]]) -> RenderableType:
    """A document: its pages, and the elements of each."""
    title = Text(printable(str(document.get("title", ""))), "bold")
    title.append(f"  {printable(str(document.get('file_type', '')))}  {printable(str(document.get('uri', '')))}", "dim")
    trunk = Tree(title)
    for page in pages:
        name = Text(f"{page.get('page_index')}  {printable(str(page.get('title') or ''))}")
        branch = trunk.add(name)
        listed = page.get("elements")
        for element in cast("list[Any]", listed) if isinstance(listed, list) else []:
            branch.add(_element(cast("dict[str, Any]", element) if isinstance(element, dict) else {}))
    return trunk


def _element(element: dict[str, Any]) -> Text:
    words = element.get("summary") or _gist(element.get("content"))
    line = Text(printable(str(element.get("category", "?"))), "cyan")
    line.append(f"  {printable(str(element.get('element_id', '')))}", "dim")
    return line.append(f"  {printable(' '.join(str(words or '').split())[:80])}")


def _gist(content: Any) -> str:
    """A few words of what an element holds."""
    if not isinstance(content, dict):
        return ""
    held = cast("dict[str, Any]", content)
    for key in ("text", "title", "alt", "description", "expression", "code", "headers", "items"):
        found = held.get(key)
        if found:
            return " | ".join(map(str, cast("list[Any]", found))) if isinstance(found, list) else str(found)
    return ""


def change(news: Change) -> RenderableType:
    """One change, in one line."""
    when = datetime.now().strftime("%H:%M:%S")
    words = _WORDS[news.kind]
    if news.kind == "tools" and news.data is not None:
        words = f"has {len(news.data)} tools now"
    line = Text(f"{when}  ", "dim")
    return line.append(printable(f"{news.computer} {words}" if news.computer is not None else words), "default")
