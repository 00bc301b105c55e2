"""Jupyter notebooks, read as the JSON that they are: text, code, and what the code gave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, code, heading
from a2c_documents.paging import paginate, size_of
from a2c_documents.parsers.common.loose import as_dict, as_list
from a2c_documents.parsers.common.pictures import encoded
from a2c_documents.parsers.common.reading import read_text
from a2c_documents.parsers.common.sections import by_heading, title_of
from a2c_documents.parsers.notebook.outputs import joined, marked_elements, output_elements

MAX_NOTEBOOK = 64_000_000
LONG = 60_000
"""Bytes of JSON above which a notebook is divided at its headings."""
MAX_CELLS = 40
"""Cells above which it is."""


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
    said = as_dict(notebook)
    cells = said.get("cells")
    if cells is None and isinstance(said.get("worksheets"), list):
        cells = [cell for sheet in said["worksheets"] for cell in as_list(as_dict(sheet).get("cells"))]
    if not isinstance(cells, list):
        return None
    return [cast("dict[str, Any]", cell) for cell in cast("list[Any]", cells) if isinstance(cell, dict)]


def _cell(cell: dict[str, Any], number: int, language: str, base: Path) -> Iterator[Element]:
    for element in _contents(cell, language, base):
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
    # A notebook's first heading is its title, even where others are as large.
    title = joined(metadata.get("title")) or title_of(elements)
    if not title and first is not None and first is elements[0]:
        title = str(first.content["text"])
    return Facts(title=title, author=", ".join(filter(None, authors)), details={"language": language, "cells": cells})


def _language(metadata: dict[str, Any]) -> str:
    info, kernel = as_dict(metadata.get("language_info")), as_dict(metadata.get("kernelspec"))
    name = joined(info.get("name")) or joined(kernel.get("language")) or joined(metadata.get("language"))
    return name.lower() or "python"
