"""The cells of an OpenDocument sheet: what is in them, and what lies over them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from a2c_documents.model import Element, text
from a2c_documents.parsers.office.comments import Comment
from a2c_documents.parsers.office.xml import attribute, local, words_of
from a2c_documents.parsers.opendocument.addresses import formula_of
from a2c_documents.parsers.opendocument.objects import SHAPES, Objects
from a2c_documents.parsers.sheets.comments import comment_elements
from a2c_documents.parsers.sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    MAX_COLUMNS,
    MAX_ROWS,
    NUMBER,
    TEXT,
    Area,
    Cell,
    Region,
    cell_of,
    ref_of,
)

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_KINDS = {
    "float": NUMBER, "percentage": NUMBER, "currency": NUMBER, "date": DATE, "time": DATE, "boolean": BOOLEAN,
}  # fmt: skip
_ERROR = re.compile(r"(?:#[A-Z/0?!]+[!?A0]|Err:[0-9]+)$")


def read_row(node: Any, row: int, region: Region, objects: Objects) -> None:
    """Put the cells of a row into a region."""
    column = 0
    for cell in node:
        if local(cell) not in ("table-cell", "covered-table-cell") or column >= MAX_COLUMNS:
            continue
        repeated = _count(cell, "number-columns-repeated")
        if len(cell) or cell.get(_OFFICE + "value-type"):
            read = _cell(cell)
            for place in range(column, min(column + repeated, MAX_COLUMNS)):
                if read.text or read.formula:
                    region.cells[row, place] = read
            _add_over(cell, row, column, region, objects)
        column += repeated


def _count(cell: Any, name: str) -> int:
    words = cell.get(_TABLE + name, "1")
    return min(max(1, int(words)), MAX_ROWS) if words.isdigit() and len(words) < 8 else 1


def _cell(cell: Any) -> Cell:
    kind = _KINDS.get(cell.get(_OFFICE + "value-type", ""), TEXT)
    words = "\n".join(words_of_line(line) for line in cell if line.tag == _TEXT + "p")
    date = cell.get(_OFFICE + "date-value", "")
    if date:
        words = date.replace("T00:00:00", "").replace("T", " ").partition(".")[0]
    elif not words:
        words = cell.get(_OFFICE + "value", "") or cell.get(_OFFICE + "string-value", "")
    rule = formula_of(cell.get(_TABLE + "formula", ""))
    # Some writers have no other way to say that a value is true or false.
    return Cell(words, ERROR if _ERROR.match(words) else kind, "" if rule in ("=TRUE()", "=FALSE()") else rule)


def words_of_line(node: Any, fields: Mapping[str, str] | None = None) -> str:
    """The text of a paragraph; spaces and line breaks are tags of their own. `fields` says what is shown for tags."""
    parts: list[str] = [node.text or ""]
    waiting: list[Any] = list(reversed(node))
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            parts.append(one)
            continue
        name = local(one)
        waiting.append(one.tail or "")
        if fields is not None and name in fields:
            parts.append(fields[name])
            continue
        if name == "s":
            count = attribute(one, "c", "1")
            parts.append(" " * min(int(count) if count.isdigit() else 1, 1_000))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        waiting.extend(reversed(one))
        waiting.append(one.text or "")
    return "".join(parts)


# ----------------------------------------------------------------------------------------------------------- over cells


def _add_over(cell: Any, row: int, column: int, region: Region, objects: Objects) -> None:
    """Comments, pictures, links, and how far a cell reaches."""
    down, right = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
    if down > 1 or right > 1:
        region.merged.append(Area(row, column, row + down - 1, column + right - 1))
    for child in cell:
        name = local(child)
        if name == "annotation":
            region.comments.extend(comment_elements([_comment(child)], ref_of(row, column)))
        elif name in SHAPES:
            end = cell_of(attribute(child, "end-cell-address").rpartition(".")[2])
            area = Area(row, column, *(end or (row, column)))
            for element in shape_elements(child, objects):
                element.metadata["source_range"] = area.ref
                region.floating.append((row, column, element))
        elif name == "p":
            url = next((attribute(one, "href") for one in child.iter() if local(one) == "a"), "")
            if url:
                region.links[row, column] = url


def _comment(node: Any) -> Comment:
    words = "\n".join(words_of_line(line) for line in node if local(line) in ("p", "list")).strip()
    author, date = (words_of(node.find(f"{{*}}{name}")) for name in ("creator", "date"))
    return Comment("", words, author, date.partition(".")[0].removesuffix("T00:00:00"))


def shape_elements(shape: Any, objects: Objects) -> list[Element]:
    """What a shape holds; a box of words is a text."""
    found: list[Element] = []
    for thing in objects.read(shape):
        if isinstance(thing, Element):
            found.append(thing)
        elif words := "\n".join(words_of_line(line) for part in thing for line in part.iter(_TEXT + "p")).strip():
            found.append(text(words))
    for element in found:
        if name := attribute(shape, "name"):
            element.metadata.setdefault("shape", name)
    return found
