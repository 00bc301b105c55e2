"""OpenDocument spreadsheets (ods): the file keeps the text of each cell as it is shown, so no format is applied here.

All sheets are in one XML part. It is divided into sheets and rows by looking at bytes; only the rows of a page become
a tree.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from a2c_smcp.documents.model import Facts, UnreadableFileError, note
from a2c_smcp.documents.parsers.sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_ROWS,
    NUMBER,
    TEXT,
    Area,
    Cell,
    Region,
    SheetInfo,
    even_pages,
    ref_of,
    uneven_pages,
)
from a2c_smcp.documents.parsers.sheets.objects import facts_of, frame_elements, pivot_elements
from a2c_smcp.documents.parsers.sheets.xml import DAMAGE, Parts, attribute, attributes, local, tree_of

MAX_CONTENT = 250_000_000
_ROOT = re.compile(rb"<office:document-content\b[^>]*>")
_SHEET = re.compile(rb"<table:table\b([^>]*)>")
_ROW = re.compile(rb"<table:table-row\b([^>]*)>")
_HIDDEN_STYLE = re.compile(rb'<style:style\b([^>]*)>\s*<style:table-properties\b[^>]*table:display="false"')
_SHAPES = re.compile(rb"<table:shapes>.*?</table:shapes>", re.DOTALL)
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_KINDS = {
    "float": NUMBER, "percentage": NUMBER, "currency": NUMBER, "date": DATE, "time": DATE, "boolean": BOOLEAN,
}  # fmt: skip
_ERROR = re.compile(r"(?:#[A-Z/0?!]+[!?A0]|Err:[0-9]+)$")


class _Rows:
    """A group of equal rows: where it begins, how many they are, and where its XML is."""

    __slots__ = ("count", "end", "first", "hidden", "start")

    def __init__(self, first: int, count: int, start: int, end: int, hidden: bool) -> None:
        self.first, self.count, self.start, self.end, self.hidden = first, count, start, end, hidden


class OpenDocumentBook:
    """An open workbook: the XML in memory, and where its rows are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (*DAMAGE, ValueError) as error:
            raise UnreadableFileError(f"this workbook is damaged: {error}") from None
        try:
            self._parts = Parts(self._archive)
            if b"encryption-data" in self._parts.read("META-INF/manifest.xml"):
                raise UnreadableFileError("this workbook is protected by a password")
            self._raw = self._parts.read("content.xml", MAX_CONTENT)
            self._divide()
            self.facts: Facts = facts_of(self._parts)
        except BaseException:
            self._archive.close()
            raise
        hidden = [sheet.name for sheet in self.sheets if sheet.hidden]
        self.facts.details["sheets"] = [sheet.name for sheet in self.sheets]
        if hidden:
            self.facts.details["hidden_sheets"] = hidden

    def close(self) -> None:
        """Let go of the archive."""
        self._archive.close()

    # ---------------------------------------------------------------------------------------------------------- sheets

    def _divide(self) -> None:
        """Find the sheets, and the rows of each."""
        raw = self._raw
        root = _ROOT.search(raw)
        if root is None:
            raise UnreadableFileError("this is no workbook: its content is something else")
        if b"<!DOCTYPE" in raw[: root.start()] or b"<!ENTITY" in raw[: root.start()]:
            raise UnreadableFileError("a part of this file defines entities of its own, which no spreadsheet needs")
        self._root = root[0]
        hidden = {attributes(found).get("style:name", "") for found in _HIDDEN_STYLE.findall(raw, 0)}
        self.sheets: list[SheetInfo] = []
        self._rows: list[list[_Rows]] = []
        self._shapes: list[bytes] = []
        end = 0
        for match in _SHEET.finditer(raw, raw.find(b"<office:spreadsheet")):
            if match.start() < end or match[1].endswith(b"/"):
                continue
            end = raw.find(b"</table:table>", match.end())
            end = len(raw) if end < 0 else end
            said = attributes(match[1])
            info = SheetInfo(said.get("table:name", ""), "hidden" if said.get("table:style-name") in hidden else "")
            rows = list(self._rows_of(match.end(), end))
            filled = [(group, raw.count(b"<text:p", group.start, group.end)) for group in rows]
            filled = [(group, count) for group, count in filled if count]
            info.pages = _pages([(group.first + more, count) for group, count in filled for more in range(group.count)])
            self.sheets.append(info)
            self._rows.append([group for group, _ in filled])
            shapes = _SHAPES.search(raw, match.end(), rows[0].start if rows else end)
            self._shapes.append(shapes[0] if shapes else b"")
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")

    def _rows_of(self, start: int, end: int) -> Iterator[_Rows]:
        row = 0
        matches = list(_ROW.finditer(self._raw, start, end))
        stops = [match.start() for match in matches[1:]] + [end]
        for match, stop in zip(matches, stops, strict=False):
            said = match[1]
            count, is_hidden = 1, b"table:visibility=" in said and b'"visible"' not in said
            if b"number-rows-repeated" in said:
                words = attributes(said).get("table:number-rows-repeated", "1")
                count = int(words) if words.isdigit() and len(words) < 8 else 1
            close = self._raw.rfind(b"</table:table-row>", match.end(), stop)
            if close >= 0:
                filled = min(count, MAX_ROWS - row)
                yield _Rows(row, max(0, filled), match.start(), close + len(b"</table:table-row>"), is_hidden)
            row += count

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, and what lies over them."""
        region = Region()
        if first == 0:
            self._beside(sheet, region)
        for group in self._rows[sheet]:
            if group.first > last or group.first + group.count <= first:
                continue
            try:
                node = next(iter(tree_of(self._root + self._raw[group.start : group.end] + _END)))
            except (UnreadableFileError, StopIteration) as error:
                region.problems.append(f"Row {group.first + 1} cannot be read: {error}.")
                continue
            for row in range(max(first, group.first), min(last + 1, group.first + group.count)):
                if len(region.cells) > MAX_CELLS:
                    region.problems.append(f"Only the rows up to {row} of this page are shown: it has too many cells.")
                    return region
                self._row(node, row, region)
                if group.hidden:
                    region.hidden_rows.append(row)
        return region

    def _beside(self, sheet: int, region: Region) -> None:
        """Shapes that belong to no cell, and pivot tables."""
        if self._shapes[sheet]:
            try:
                tree = tree_of(self._root + self._shapes[sheet] + _END)
                region.floating.extend((0, 0, one) for one in frame_elements(self._path, self._parts, tree))
            except UnreadableFileError as error:
                region.problems.append(f"The shapes of this sheet cannot be read: {error}.")
        region.floating.extend(pivot_elements(self._raw, self._root, _END, self.sheets[sheet].name))

    # ----------------------------------------------------------------------------------------------------------- cells

    def _row(self, node: ElementTree.Element, row: int, region: Region) -> None:
        column = 0
        for cell in node:
            name = local(cell.tag)
            if name not in ("table-cell", "covered-table-cell") or column >= MAX_COLUMNS:
                continue
            repeated = _count(cell, "number-columns-repeated")
            if len(cell) or cell.get(_OFFICE + "value-type"):
                read = _cell(cell)
                for place in range(column, min(column + repeated, MAX_COLUMNS)):
                    if read.text or read.formula:
                        region.cells[row, place] = read
                self._over(cell, row, column, region)
            column += repeated

    def _over(self, cell: ElementTree.Element, row: int, column: int, region: Region) -> None:
        """Comments, pictures, links, and how far a cell reaches."""
        down, right = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
        if down > 1 or right > 1:
            region.merged.append(Area(row, column, row + down - 1, column + right - 1))
        for child in cell:
            name = local(child.tag)
            if name == "annotation":
                words = "\n".join(_words(line) for line in child if local(line.tag) in ("p", "list")).strip()
                author = next((one.text or "" for one in child if local(one.tag) == "creator"), "")
                ref = ref_of(row, column)
                element = note("annotation", words, cell=ref, **({"author": author} if author else {}))
                element.metadata = {"source_range": ref, "kind": "comment"}
                region.comments.append((row, column, element))
            elif name == "frame":
                for element in frame_elements(self._path, self._parts, [child]):
                    element.metadata["source_range"] = ref_of(row, column)
                    region.floating.append((row, column, element))
            elif name == "p":
                url = next((attribute(one, "href") for one in child.iter() if local(one.tag) == "a"), "")
                if url:
                    region.links[row, column] = url


_END = b"</office:document-content>"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def _pages(filled: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if not filled:
        return [(0, 0)]
    rows, columns = filled[-1][0] + 1, max(count for _, count in filled)
    dense = sum(count for _, count in filled) * 4 >= rows * columns
    return even_pages(rows, columns) if dense else uneven_pages(filled)


def _count(cell: ElementTree.Element, name: str) -> int:
    words = cell.get(_TABLE + name, "1")
    return min(max(1, int(words)), MAX_ROWS) if words.isdigit() and len(words) < 8 else 1


def _cell(cell: ElementTree.Element) -> Cell:
    kind = _KINDS.get(cell.get(_OFFICE + "value-type", ""), TEXT)
    words = "\n".join(_words(line) for line in cell if line.tag == _TEXT + "p")
    date = cell.get(_OFFICE + "date-value", "")
    if date:
        words = date.replace("T00:00:00", "").replace("T", " ").partition(".")[0]
    elif not words:
        words = cell.get(_OFFICE + "value", "") or cell.get(_OFFICE + "string-value", "")
    rule = _rule(cell.get(_TABLE + "formula", ""))
    return Cell(words, ERROR if _ERROR.match(words) else kind, rule)


def _words(node: ElementTree.Element) -> str:
    """The text of a paragraph; spaces and line breaks are tags of their own."""
    parts: list[str] = [node.text or ""]
    waiting: list[Any] = list(reversed(node))
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            parts.append(one)
            continue
        name = local(one.tag)
        if name == "s":
            count = attribute(one, "c", "1")
            parts.append(" " * min(int(count) if count.isdigit() else 1, 1_000))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        waiting.append(one.tail or "")
        waiting.extend(reversed(one))
        waiting.append(one.text or "")
    return "".join(parts)


def _rule(words: str) -> str:
    """A formula as people write it: `of:=SUM([.A1:.A3])` is =SUM(A1:A3)."""
    if not words:
        return ""
    _, equals, rule = words.partition("=")

    def simple(match: re.Match[str]) -> str:
        ends = [end.rpartition(".") for end in match[1].split(":")]
        return ":".join(f"{sheet.lstrip('$')}!{cell}" if sheet else cell for sheet, _, cell in ends)

    return f"={_BRACKETS.sub(simple, rule)}" if equals else words
