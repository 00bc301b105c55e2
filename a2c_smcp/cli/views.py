"""Tables and texts for a person, of whatever a Computer offers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.markup import escape as escape_markup
from rich.panel import Panel
from rich.table import Column, Table
from rich.text import Text

from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.smcp import DPEDocumentSummary, ResourceContents
from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.text import printable

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

WIDE = 200
"""Columns where there is no terminal to fill."""


def escape(text: str) -> str:
    """Text from elsewhere as rich shall show it: as it is."""
    return escape_markup(printable(text))


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))  # a text has no lines but its own


def window(shown: str) -> RenderableType:
    """One window of the Desktop."""
    uri, _, body = shown.partition("\n\n")
    return Panel(Text(printable(body)), title=escape(uri), title_align="left")


def documents(page: list[DPEDocumentSummary], total: int) -> RenderableType:
    """A page of the catalogue."""
    if not page:
        return f"none of {total}" if total else "no documents"
    title = Column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    uri = Column("uri", no_wrap=True, min_width=max(len(entry["uri"]) for entry in page))  # to be copied
    table = Table(title, "type", "pages", "changed", "server", uri, box=None)
    table.caption = f"{len(page)} of {total}"
    for entry in page:
        changed = entry.get("last_modified", "")[:10]
        cells = (entry["title"], entry["file_type"], str(entry["page_count"]), changed, entry["server"], entry["uri"])
        table.add_row(*map(escape, cells))
    return table


def as_markdown(uri: str, *, index: bool = True) -> str:
    """The address at which a document, page or element is given as a person wants to read it; of a document that is
    the index of its pages, or else its text as well."""
    try:
        address = parse_dpe_uri(uri)
    except InvalidDPEUriError:
        return uri
    if (index and address.level == 0) or {"format", "depth"} & set(address.query_params):
        return uri
    wish = "depth=pages" if index and address.level == 1 else "format=markdown"
    uri = uri.partition("#")[0]
    return f"{uri}{'&' if '?' in uri else '?'}{wish}"


def document(body: dict[str, Any]) -> Iterable[RenderableType]:
    """What a document is, and its pages as far as they are told."""
    yield Text(printable(str(body.get("title", ""))), "bold")
    facts = Table.grid(padding=(0, 2))
    for key, value in body.items():
        if key not in ("title", "pages", "page_offset", "page_limit", "page_total") and value not in (None, "", []):
            facts.add_row(f"[dim]{escape(key)}[/]", escape(_in_words(value)))
    yield facts
    listed = body.get("pages")
    if isinstance(listed, list) and listed:
        table = Table("page", "title", "elements", Column("uri", overflow="fold"), box=None)
        for page in cast("list[Any]", listed):
            cells = [str(cast("dict[str, Any]", page).get(key, "")) for key in _PAGE] if isinstance(page, dict) else []
            table.add_row(*map(escape, cells))
        total = body.get("page_total")
        if isinstance(total, int) and total > table.row_count:
            table.caption = f"{table.row_count} of {total} pages"
        yield table


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_words, cast("list[Any]", value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_in_words(held)}" for key, held in cast("dict[str, Any]", value).items())
    return str(value)


_PAGE = ("page_index", "title", "element_count", "uri")


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
            yield _markdown(markdown)
        elif isinstance(data, dict) and isinstance(plain := cast("dict[str, Any]", data).get("content_text"), str):
            yield Text(printable(str(cast("dict[str, Any]", data).get("title", ""))), "bold")
            yield Text(printable(plain))
        elif part.get("mimeType") == "text/markdown":
            yield _markdown(words)
        elif isinstance(data, dict) and "page_count" in data:
            yield from document(cast("dict[str, Any]", data))
        elif isinstance(data, dict | list):
            yield Text(printable(json.dumps(data, indent=2, ensure_ascii=False)))
        else:
            yield Text(printable(words))


def _markdown(text: str) -> Markdown:
    """Markdown whose lines stay lines: a document's text has its line breaks where they were."""
    lines: list[str] = []
    is_code = False
    for line in printable(text).split("\n"):
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        lines.append(line if is_code or not line.strip() or line.lstrip().startswith("|") else f"{line}  ")
    return Markdown("\n".join(lines))


def result(found: CallToolResult) -> Iterable[RenderableType]:
    """A tool's result."""
    for part in found.content:
        match part.type:
            case "text":
                yield Text(printable(part.text), style="red" if found.is_error else "")
            case "image" | "audio":
                yield Text(f"[{part.type}, {printable(part.mime_type)}, {len(part.data) * 3 // 4} bytes]", style="dim")
            case "resource_link":
                yield Text(f"[link to {printable(part.uri)}]", style="dim")
            case "resource":
                yield Text(f"[resource {printable(part.resource.uri)}]", style="dim")
                if isinstance(words := getattr(part.resource, "text", None), str):
                    yield Text(printable(words))
    if not found.content and found.structured_content is not None:
        yield Text(printable(json.dumps(found.structured_content, indent=2, ensure_ascii=False)), style="dim")


def print_json(value: Any) -> None:
    """Print data for a program."""
    print(as_json(value, indent=2))


def as_json(value: Any, indent: int | None = None) -> str:
    """Data for a program; what could harm a terminal is escaped, which JSON reads as the same."""
    return printable(json.dumps(value, indent=indent, ensure_ascii=False))
