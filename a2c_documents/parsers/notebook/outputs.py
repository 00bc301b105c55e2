"""What a notebook's code gave: text, tables, pictures, charts, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from a2c_documents.model import Element, UnreadableFileError, chart, code, formula, image, note
from a2c_documents.parsers.common.loose import as_dict, as_list
from a2c_documents.parsers.common.pictures import encoded
from a2c_documents.parsers.common.reading import clean
from a2c_documents.parsers.html.document import html_elements
from a2c_documents.parsers.markdown.document import markdown_elements

MAX_OUTPUT = 200_000
MAX_HTML = 5_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OBJECT = re.compile(r"<[\w. ]+(?: at 0x[0-9a-f]+| object)>")
"""What Python says of a thing that has no words of its own."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
_OLD_NAMES = {
    "png": "image/png", "jpeg": "image/jpeg", "svg": "image/svg+xml", "html": "text/html", "latex": "text/latex",
    "text": "text/plain", "markdown": "text/markdown", "javascript": "application/javascript",
}  # fmt: skip
"""How nbformat 3 called the types of its outputs."""


def joined(value: Any) -> str:
    """A text, which notebooks like to keep as a list of lines."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return clean("".join(part for part in cast("list[Any]", value) if isinstance(part, str)))
    return ""


def marked_elements(source: str, base: Path | None = None) -> list[Element]:
    """The elements of Markdown in a cell or output; what cannot be read leaves the other cells alone."""
    try:
        return markdown_elements(source, base=base)
    except UnreadableFileError as error:
        return [note("annotation", f"A cell cannot be shown: {error}.")]


def output_elements(output: Any) -> Iterator[Element]:
    """The elements of one output, in nbformat 3 or 4."""
    if not isinstance(output, dict):
        return
    said = cast("dict[str, Any]", output)
    kind = said.get("output_type")
    if kind == "stream":
        yield from _plain(joined(said.get("text")))
    elif kind in ("error", "pyerr"):
        yield _error(said)
    elif kind in ("display_data", "execute_result", "pyout", "update_display_data"):
        data = said.get("data")
        bundle = cast("dict[str, Any]", data) if isinstance(data, dict) else _old_bundle(said)
        yield from _bundle(bundle)


def _old_bundle(output: dict[str, Any]) -> dict[str, Any]:
    return {mime: output[name] for name, mime in _OLD_NAMES.items() if name in output}


def _error(said: dict[str, Any]) -> Element:
    name, value = joined(said.get("ename")), joined(said.get("evalue"))
    trace = said.get("traceback")
    lines = [joined(part) for part in cast("list[Any]", trace)] if isinstance(trace, list) else []
    words = _COLOURS.sub("", "\n".join(lines))[-20_000:]
    return note("annotation", f"{name}: {value}".strip(": ") or "Error", traceback=words)


def _plain(words: str) -> Iterator[Element]:
    words = _COLOURS.sub("", words).strip("\n").rstrip()
    if len(words) > MAX_OUTPUT:
        yield code(words[:MAX_OUTPUT], "text")
        yield note("annotation", f"This output goes on for {len(words) - MAX_OUTPUT:,} further characters.")
    elif words:
        yield code(words, "text")


def _bundle(bundle: dict[str, Any]) -> Iterator[Element]:
    """One thing in several shapes: the one that says most to a reader."""
    plain = joined(bundle.get("text/plain"))
    if (plot := _plotted(bundle)) is not None:
        yield plot
    for mime in _PICTURES:
        if body := joined(bundle.get(mime)):
            shown = image(_described(plain))
            shown.picture = encoded(mime, body)
            yield shown
            return
    if svg := joined(bundle.get("image/svg+xml")):
        shown = image(_described(plain))
        shown.picture = lambda: ("image/svg+xml", svg.encode())
        yield shown
    elif (markup := joined(bundle.get("text/html"))) and (found := _from_html(markup, plain)):
        yield from found
    elif source := joined(bundle.get("text/markdown")):
        yield from marked_elements(source)
    elif tex := joined(bundle.get("text/latex")):
        yield formula(tex.strip().strip("$").strip(), plain)
    elif "application/vnd.jupyter.widget-view+json" in bundle:
        yield note("widget", plain or "Interactive widget")
    elif plot is None:
        yield from _plain(plain)


def _from_html(markup: str, plain: str) -> list[Element]:
    """Only where there is more in it than in the plain text: a table, a picture, a list …"""
    try:
        found = html_elements(markup[:MAX_HTML])
    except UnreadableFileError:
        return []
    more = any(element.category not in ("text", "code") for element in found)
    return found if more or not plain.strip() or _OBJECT.fullmatch(plain.strip()) else []


def _described(plain: str) -> str:
    """`<matplotlib.figure.Figure at 0x…>` says what it is, but not where it was."""
    return re.sub(r"\s+at 0x[0-9a-f]+", "", plain.strip().split("\n")[0][:200]).strip("<>")


def _plotted(bundle: dict[str, Any]) -> Element | None:
    """Plotly and Vega keep their charts as data."""
    plotly = bundle.get("application/vnd.plotly.v1+json")
    if isinstance(plotly, dict):
        figure = as_dict(cast("Any", plotly))
        traces = [as_dict(trace) for trace in as_list(figure.get("data"))]
        title = as_dict(figure.get("layout")).get("title")
        title = as_dict(title).get("text") if isinstance(title, dict) else title
        names = [str(trace.get("name") or f"series {n}") for n, trace in enumerate(traces, 1)]
        kind = str(traces[0].get("type") or "scatter") if traces else "unknown"
        return chart(kind, joined(title), f"{len(traces)} series: {', '.join(names[:20])}")
    for mime, value in bundle.items():
        if mime.startswith("application/vnd.vega") and isinstance(value, dict):
            spec = cast("dict[str, Any]", value)
            mark = spec.get("mark")
            kind = mark if isinstance(mark, str) else str(as_dict(mark).get("type") or "unknown")
            return chart(
                kind, joined(spec.get("title")), f"encodes {', '.join(as_dict(spec.get('encoding'))) or 'data'}"
            )
    return None
