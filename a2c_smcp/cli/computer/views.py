"""Tables and texts for a person. What is shown holds no secret."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, cast

from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.markup import escape as escape_markup
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from a2c_smcp.cli.computer.progress import SYMBOLS
from a2c_smcp.computer.mcp_clients.model import MCPServerInput
from a2c_smcp.computer.tools import ToolBook
from a2c_smcp.computer.types import ServerState, ServerStatus, ToolCallRecord
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.smcp import DPEDocumentSummary, ResourceContents
from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import printable


def escape(text: str) -> str:
    """Text from elsewhere as rich shall show it: as it is."""
    return escape_markup(printable(text))


WIDE = 200
"""Columns where there is no terminal to fill."""


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    for part in parts:
        console.print(part)


def servers(statuses: list[ServerStatus]) -> RenderableType:
    """The servers and their states."""
    if not statuses:
        return "no MCP servers are configured"
    table = Table(
        "",
        "server",
        "type",
        "state",
        "since",
        "tools",
        "windows",
        "documents",
        "restarts",
        Column("software", no_wrap=True),
        box=None,
    )
    for status in statuses:
        table.add_row(
            SYMBOLS.get(status.state, "…"),
            escape(status.name),
            status.type,
            status.state.value,
            status.since.astimezone().strftime("%H:%M:%S"),
            str(status.tools),
            str(status.windows),
            str(status.documents),
            str(status.restarts),
            escape(status.server_info or ""),
        )
    return table


def details(statuses: list[ServerStatus]) -> Iterable[RenderableType]:
    """Why servers are not ready, and what their owner should know."""
    for status in statuses:
        if status.reason and status.state is not ServerState.READY:
            yield Text(printable(f"{status.name}: {status.reason}"), style="red")
        for line in status.stderr:
            yield Text(f"    {printable(line)}", style="dim")
        for note in status.notes:
            yield Text(printable(f"{status.name}: {note}"), style="yellow")


def tools(book: ToolBook, server: str | None = None) -> RenderableType:
    """The tools that an Agent sees."""
    entries = {name: entry for name, entry in book.entries.items() if server in (None, entry.server)}
    if not entries:
        return "no tools"
    table = Table(
        Column("tool", no_wrap=True),
        Column("server", no_wrap=True),
        "asks first",
        Column("parameters", max_width=32),
        Column("description", no_wrap=True, overflow="ellipsis", ratio=1),
        box=None,
        expand=True,
    )
    for name, entry in entries.items():
        schema = entry.tool["params_schema"]
        required = cast("list[Any]", found) if isinstance(found := schema.get("required"), list) else []
        properties = cast("dict[str, Any]", found) if isinstance(found := schema.get("properties"), dict) else {}
        names = [escape(name) if name in required else f"[dim]{escape(name)}[/]" for name in properties]
        description = entry.tool["description"].strip().partition("\n")[0]
        asks = "no" if entry.meta.auto_apply else "yes"
        table.add_row(escape(name), escape(entry.server), asks, " ".join(names), escape(description))
    return table


def listed(entries: Iterable[tuple[str, str, str]]) -> RenderableType:
    """Addresses, their servers and names."""
    table = Table(Column("uri", overflow="fold"), "server", "name", box=None)
    for uri, server, name in entries:
        table.add_row(escape(uri), escape(server), escape(name))
    return table if table.row_count else "none"


def window(shown: str) -> RenderableType:
    """One window of the Desktop."""
    uri, _, body = shown.partition("\n\n")
    return Panel(Text(printable(body)), title=escape(uri), title_align="left")


def documents(page: list[DPEDocumentSummary], total: int) -> RenderableType:
    """A page of the catalogue."""
    if not page:
        return f"none of {total}" if total else "no documents"
    table = Table("title", "type", "pages", "changed", "server", Column("uri", overflow="fold"), box=None)
    table.caption = f"{len(page)} of {total}"
    for entry in page:
        changed = entry.get("last_modified", "")[:10]
        cells = (entry["title"], entry["file_type"], str(entry["page_count"]), changed, entry["server"], entry["uri"])
        table.add_row(*map(escape, cells))
    return table


def as_markdown(uri: str) -> str:
    """The address at which a page or an element is given as a person wants to read it."""
    try:
        address = parse_dpe_uri(uri)
    except InvalidDPEUriError:
        return uri
    if address.level < 2 or "format" in address.query_params:
        return uri
    uri = uri.partition("#")[0]
    return f"{uri}{'&' if '?' in uri else '?'}format=markdown"


def resource(contents: list[ResourceContents]) -> Iterable[RenderableType]:
    """What a resource holds: markdown rendered, JSON in order, text as it is."""
    for part in contents:
        words = part.get("text")
        if words is None:
            yield Text(
                f"[{printable(part.get('mimeType', 'binary'))}, {len(part.get('blob', '')) * 3 // 4} bytes]", "dim"
            )
            continue
        try:
            data: Any = json.loads(words)
        except ValueError:
            data = None
        markdown = cast("dict[str, Any]", data).get("content_markdown") if isinstance(data, dict) else None
        if isinstance(markdown, str):
            yield Text(printable(str(cast("dict[str, Any]", data).get("title", ""))), "bold")
            yield Markdown(printable(markdown))
        elif part.get("mimeType") == "text/markdown":
            yield Markdown(printable(words))
        elif isinstance(data, dict | list):
            yield Text(printable(json.dumps(data, indent=2, ensure_ascii=False)))
        else:
            yield Text(printable(words))


def result(found: CallToolResult) -> Iterable[RenderableType]:
    """A tool's result."""
    for part in found.content:
        match part:
            case TextContent():
                yield Text(printable(part.text), style="red" if found.is_error else "")
            case ImageContent() | AudioContent():
                yield Text(f"[{part.type}, {printable(part.mime_type)}, {len(part.data) * 3 // 4} bytes]", style="dim")
            case ResourceLink():
                yield Text(f"[link to {printable(part.uri)}]", style="dim")
            case EmbeddedResource():
                yield Text(f"[resource {printable(part.resource.uri)}]", style="dim")
    if not found.content and found.structured_content is not None:
        yield Text(printable(json.dumps(found.structured_content, indent=2, ensure_ascii=False)), style="dim")


def history(records: Iterable[ToolCallRecord]) -> RenderableType:
    """The last calls."""
    table = Table("when", "tool", "server", "outcome", "parameters", box=None)
    for record in records:
        outcome = "[green]ok[/]" if record["success"] else f"[red]{escape((record['error'] or '')[:80])}[/]"
        shown = json.dumps(record["parameters"], ensure_ascii=False)[:80]
        table.add_row(
            record["timestamp"][11:19], escape(record["tool"]), escape(record["server"]), outcome, escape(shown)
        )
    return table if table.row_count else "no calls yet"


def inputs(definitions: Iterable[MCPServerInput], values: dict[str, Any]) -> RenderableType:
    """The inputs, and whether each has a value; never the value of a secret."""
    table = Table("input", "type", "value", "description", box=None)
    for wanted in definitions:
        is_secret = wanted.type == "command" or getattr(wanted, "password", False)
        value = "[dim]not asked yet[/]"
        if wanted.id in values:
            value = "•••" if is_secret else escape(str(values[wanted.id]))
        table.add_row(escape(wanted.id), wanted.type, value, escape(wanted.description))
    return table if table.row_count else "no inputs are defined"
