"""Tables and texts of tool results, windows, documents and resources, for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape as escape_markup
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from a2c_smcp.cli.quoting import BAR, quoted, width_of
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.smcp import DPEDocumentSummary, ResourceContents
from a2c_smcp.utils.dpe_uri import parse_dpe_uri
from a2c_smcp.utils.result_meta import SAVED_TO
from a2c_smcp.utils.text import one_line, printable

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

MOST_QUOTED = 20_000
"""Characters of one description that are shown; `--json` prints all of them."""
MOST_LINES_QUOTED = 500
_NARROWEST = 20
"""Columns of a description in a table."""
WIDE = 200
"""The width of tables without a terminal: a program that reads them needs whole lines."""


def escape(text: str) -> str:
    """Text from other programs in one line, which rich shows without markup or control characters."""
    return escape_markup(one_line(text))


def quote(text: str, after: str = "") -> Iterable[Text]:
    """Words of an MCP server, with a bar before each line; the first line follows on `after`."""
    for line in quoted(text, after=after, width=width_of(sys.stdout)):
        head, bar, words = line.partition(BAR)
        yield Text.assemble((head, "dim"), (bar, "dim"), words)


class Quoted:
    """Words of an MCP server inside a table or a block, with a bar before each line."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _lines(self, width: int) -> list[str]:
        # `width` columns are free here; `quoted` leaves out the last column of a terminal.
        return quoted(self._text, MOST_QUOTED, indent="", most=MOST_LINES_QUOTED, width=width + 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Text]:
        for line in self._lines(options.max_width):
            yield Text.assemble((BAR, "dim"), line.removeprefix(BAR))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = self._lines(options.max_width)
        return Measurement(min(_NARROWEST, options.max_width), max(map(cell_len, lines), default=0))


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    for part in parts:
        # rich would wrap a text at the width of the terminal by inserting line breaks, which a copy would contain.
        console.print(part, soft_wrap=isinstance(part, Text))


def window(shown: str) -> Iterable[RenderableType]:
    """One window of the Desktop: its address and its contents."""
    uri, _, body = shown.partition("\n\n")
    yield Text(printable(uri), "bold")
    yield Panel(Text(printable(body)))


def documents(
    found: Iterable[tuple[str, DPEDocumentSummary]], total: int, how_to_see_more: str = ""
) -> Iterable[RenderableType]:
    """A page of documents, each with the name of its Computer or MCP server."""
    count = 0
    for place, entry in found:
        count += 1
        changed = str(entry.get("last_modified") or "")[:10]
        facts = (entry["file_type"], _pages(entry["page_count"]), changed, f"on {place}")
        yield with_address(entry["title"], ", ".join(filter(None, facts)), entry["uri"])
    more = how_to_see_more if count < total else ""
    yield Text(f"{count or 'none'} of {total}{more}" if total else "no documents", "dim")


def with_address(title: str, facts: str, uri: str) -> Text:
    """A resource. Its address has a line of its own and is never wrapped, so that it can be copied."""
    line = Text.assemble((one_line(title), "bold"), (f"  {one_line(facts)}", "dim"), f"\n  {one_line(uri)}")
    line.no_wrap, line.overflow = True, "ignore"
    return line


def _pages(count: int) -> str:
    return f"{count} page{'s' if count != 1 else ''}"


def as_markdown(uri: str, *, index: bool = True) -> str:
    """The address that returns a document, page or element as Markdown. With `index`, a document returns the list of
    its pages."""
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
    """The metadata of a document, and its pages if they are listed."""
    yield Text.assemble((printable(str(body.get("title", ""))), "bold"), f"\n  {printable(str(body.get('uri', '')))}")
    facts = Table.grid(padding=(0, 2))
    for key, value in body.items():
        if key not in ("title", "uri", "pages", "page_offset", "page_limit", "page_total") and value not in (
            None,
            "",
            [],
        ):
            facts.add_row(Text(one_line(key), "dim"), Text(printable(_in_words(value))))
    yield facts
    listed = body.get("pages")
    if isinstance(listed, list) and listed:
        pages = [cast("dict[str, Any]", page) for page in cast("list[Any]", listed) if isinstance(page, dict)]
        for page in pages:
            elements = f"page {page.get('page_index', '?')}, {page.get('element_count', '?')} elements"
            yield with_address(str(page.get("title") or ""), elements, str(page.get("uri") or ""))
        total = body.get("page_total")
        if isinstance(total, int) and total > len(pages):
            yield Text(f"{len(pages)} of {total} pages", "dim")


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_in_words, cast("list[Any]", value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_in_words(held)}" for key, held in cast("dict[str, Any]", value).items())
    return str(value)


def resource(contents: list[ResourceContents]) -> Iterable[RenderableType]:
    """The contents of a resource: Markdown is rendered, JSON is indented, other text is unchanged."""
    for part in contents:
        words = part.get("text")
        if words is None:
            if (saved := _saved(cast("dict[str, Any]", part).get("_meta"))) is not None:
                yield Text(f"[{printable(part.get('mimeType', 'binary'))}, saved to {saved}]", "dim")
                continue
            # Base64 has four characters for three bytes: near enough, without decoding a large blob.
            yield Text(
                f"[{printable(part.get('mimeType', 'binary'))}, {len(part.get('blob', '')) * 3 // 4} bytes]", "dim"
            )
            continue
        # By contents, not by MIME type: the Markdown or text of a document arrives inside a JSON object.
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


def _markdown(text: str) -> RenderableType:
    """Rendered Markdown that keeps its line breaks."""
    # Markdown joins the lines of a paragraph; two spaces at the end make a line break. The lines of a document matter
    # (addresses, poems, logs), but those of code and tables are kept anyway, and spaces would break them.
    from rich.markdown import Markdown  # slow to import, and most commands show none

    lines: list[str] = []
    is_code = False
    for line in printable(text).split("\n"):
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        lines.append(line if is_code or not line.strip() or line.lstrip().startswith("|") else f"{line}  ")
    return Markdown("\n".join(lines))


def result(found: CallToolResult) -> Iterable[RenderableType]:
    """The result of a tool call."""
    for part in found.content:
        if (saved := _saved(part.meta)) is not None:
            yield Text(f"[{part.type}, saved to {saved}]", style="dim")
            continue
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


def _saved(meta: dict[str, Any] | None) -> str | None:
    """The file in which the binary of an item was saved."""
    path = (meta or {}).get(SAVED_TO)
    return printable(path) if isinstance(path, str) else None


def print_json(value: Any) -> None:
    """Print data for a program."""
    print(as_json(value, indent=2))


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON for a program. Control characters are escaped."""
    # The output may still go to a terminal. Inside a JSON string, the escape is another spelling of the same character.
    return printable(json.dumps(value, indent=indent, ensure_ascii=False))
