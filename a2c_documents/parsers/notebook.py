"""Jupyter notebooks, read as plain JSON: text, code and outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from a2c_documents.loose import as_dict, as_list
from a2c_documents.model import (
    Element,
    Facts,
    Page,
    PagesSource,
    Source,
    UnreadableFileError,
    chart,
    code,
    formula,
    heading,
    image,
    note,
)
from a2c_documents.paging import paginate, size_of
from a2c_documents.parsers.common.decoding import clean, read_text
from a2c_documents.parsers.common.markup import by_heading, title_of
from a2c_documents.parsers.common.pictures import encoded
from a2c_documents.parsers.html.web_page import html_elements
from a2c_documents.parsers.markdown import markdown_elements

MAX_NOTEBOOK = 64_000_000
LONG = 60_000
"""Bytes of JSON above which a notebook is divided at its headings."""
MAX_CELLS = 40
"""Cells above which it is divided, too."""


def open_notebook(path: Path) -> Source:
    """A notebook of format 3 or 4.

    Raises:
        UnreadableFileError: it is empty, too large, or no notebook.
    """
    words, _ = read_text(path, "notebook", MAX_NOTEBOOK)
    try:
        notebook = json.loads(words)
    except json.JSONDecodeError as error:
        raise UnreadableFileError(f"this notebook is damaged: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError):
        raise UnreadableFileError(
            "this notebook is damaged: it is nested too deep, or its numbers are too long"
        ) from None
    cells = _cells(notebook)
    if cells is None:
        raise UnreadableFileError("this is no notebook: it has no cells")
    said = cast("dict[str, Any]", notebook)
    metadata = as_dict(said.get("metadata"))
    language = _language(metadata)
    elements = [
        element for number, cell in enumerate(cells, 1) for element in _cell(cell, number, language, path.parent)
    ]
    facts = _facts(metadata, elements, language, len(cells))
    long = len(cells) > MAX_CELLS or sum(map(size_of, elements)) > LONG
    return PagesSource(facts, paginate(by_heading(elements, facts.title) if long else [Page(facts.title, elements)]))


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    # Nothing about the file is certain except that it is JSON, so each value is checked before it is used.
    said = as_dict(notebook)
    cells = said.get("cells")
    # Format 3 has its cells in worksheets.
    if cells is None and isinstance(said.get("worksheets"), list):
        cells = [cell for sheet in said["worksheets"] for cell in as_list(as_dict(sheet).get("cells"))]
    if not isinstance(cells, list):
        return None
    return [cast("dict[str, Any]", cell) for cell in cast("list[Any]", cells) if isinstance(cell, dict)]


def _cell(cell: dict[str, Any], number: int, language: str, base: Path) -> Iterator[Element]:
    for element in _contents(cell, language, base):
        # Line numbers would count from the beginning of the cell, not of the file.
        element.metadata = {"cell": number, **{key: value for key, value in element.metadata.items() if key != "lines"}}
        yield element


def _contents(cell: dict[str, Any], language: str, base: Path) -> Iterator[Element]:
    kind = cell.get("cell_type")
    source = joined(cell.get("source", cell.get("input")))
    if kind == "markdown":
        yield from _markdown(source, as_dict(cell.get("attachments")), base)
    elif kind == "heading":
        level = cell.get("level")
        yield heading(" ".join(source.split()), level if isinstance(level, int) else 1)
    elif kind == "code":
        if source.strip():
            shown = code(source.rstrip(), joined(cell.get("language")) or language)
            count = cell.get("execution_count", cell.get("prompt_number"))
            if isinstance(count, int):
                shown.metadata["execution"] = count
            yield shown
        for output in as_list(cell.get("outputs")):
            for element in output_elements(output):
                element.metadata["output"] = True
                yield element
    elif source.strip():
        yield code(source.rstrip(), "text")


def _markdown(source: str, attached: dict[str, Any], base: Path) -> Iterator[Element]:
    for element in marked_elements(source, base):
        url = str(element.content.get("url", "")) if element.category == "image" else ""
        if url.startswith("attachment:"):
            for mime, body in as_dict(attached.get(url.removeprefix("attachment:"))).items():
                element.picture = encoded(mime, joined(body))
        yield element


def _facts(metadata: dict[str, Any], elements: list[Element], language: str, cells: int) -> Facts:
    authors = [joined(as_dict(author).get("name")) for author in as_list(metadata.get("authors"))]
    first = next((element for element in elements if element.category == "heading"), None)
    # Authors use the largest heading for every section. The first one, at the top, is the title nevertheless.
    title = joined(metadata.get("title")) or title_of(elements)
    if not title and first is not None and first is elements[0]:
        title = str(first.content["text"])
    return Facts(title=title, author=", ".join(filter(None, authors)), details={"language": language, "cells": cells})


def _language(metadata: dict[str, Any]) -> str:
    info, kernel = as_dict(metadata.get("language_info")), as_dict(metadata.get("kernelspec"))
    name = joined(info.get("name")) or joined(kernel.get("language")) or joined(metadata.get("language"))
    return name.lower() or "python"


# -------------------------------------------------------------------------------------------------------------- outputs


MAX_OUTPUT = 200_000
MAX_HTML = 5_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OBJECT = re.compile(r"<[\w. ]+(?: at 0x[0-9a-f]+| object)>")
"""Python's text for an object without a description of its own."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
_OLD_NAMES = {
    "png": "image/png", "jpeg": "image/jpeg", "svg": "image/svg+xml", "html": "text/html", "latex": "text/latex",
    "text": "text/plain", "markdown": "text/markdown", "javascript": "application/javascript",
}  # fmt: skip
"""The names of output types in nbformat 3."""


def joined(value: Any) -> str:
    """A text, which notebooks store as a string or a list of lines."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return clean("".join(part for part in cast("list[Any]", value) if isinstance(part, str)))
    return ""


def marked_elements(source: str, base: Path | None = None) -> list[Element]:
    """The elements of Markdown in a cell or output. If it cannot be read, an annotation takes its place."""
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
    # The end of a traceback has the place of the error.
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
    """The most useful of several representations of one output."""
    plain = joined(bundle.get("text/plain"))
    if (plot := _plotted(bundle)) is not None:
        yield plot
    # A picture shows more than its other forms, and HTML is used only if it has more than the text (`_from_html`).
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
    """The elements of HTML, if it has more than the plain text: a table, a picture, a list …"""
    try:
        found = html_elements(markup[:MAX_HTML])
    except UnreadableFileError:
        return []
    more = any(element.category not in ("text", "code") for element in found)
    return found if more or not plain.strip() or _OBJECT.fullmatch(plain.strip()) else []


def _described(plain: str) -> str:
    """The text of an object without its address in memory: `matplotlib.figure.Figure`."""
    return re.sub(r"\s+at 0x[0-9a-f]+", "", plain.strip().split("\n")[0][:200]).strip("<>")


def _plotted(bundle: dict[str, Any]) -> Element | None:
    """The chart of an output of Plotly or Vega, which store charts as data."""
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
