"""Cells of an Excel worksheet as a person sees them: shared strings, number formats, formulas."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from html import unescape
from typing import IO

from a2c_documents.parsers.office.number_formats import BUILT_IN, shown, shown_text
from a2c_documents.parsers.office.package import DAMAGE, Package
from a2c_documents.parsers.office.tables import column_of, letters
from a2c_documents.parsers.office.xml import DamagedPartError, Node, attribute, first, found, local, parse_xml
from a2c_documents.parsers.sheets.excel_rows import CHUNK, RowStream
from a2c_documents.parsers.sheets.grid import (
    BOOLEAN,
    DATE,
    ERROR,
    MAX_CELLS,
    MAX_COLUMNS,
    NUMBER,
    Cell,
    Region,
    cell_of,
)
from a2c_documents.parsers.sheets.markup import is_on, runs_of, unescaped

_TEXT = re.compile(rb"<(?:[\w.-]+:)?t(?:\s[^>]*)?>([^<]*)<")
_PHONETIC = re.compile(rb"<(?:[\w.-]+:)?rPh\b.*?</(?:[\w.-]+:)?rPh>", re.DOTALL)
# The first group matches what must not change: names of sheets, texts and structured references.
_REFERENCE = re.compile(r"""('[^']*'|"[^"]*"|\[[^\]]*\])|(?<![\w.])(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})(?![\w(.])""")
_Shared = dict[str, tuple[tuple[int, int], str]]
"""Shared formulas by number: the cell that holds the formula, and its text."""
_MAX_STRINGS, _MAX_STRING = 300_000_000, 4_000_000
"""Limits for the bytes of all texts, and of one."""
_LONGEST = 32_767
"""The characters that Excel allows in a cell."""
_MAX_TEXT = 5_000_000
"""Limit for the characters of the cells of a page: many cells can refer to one long text."""


class SharedStrings:
    """The texts that cells refer to by number, unpacked only as far as they are requested.

    There can be millions of them, so they stay in blocks of XML with the end of each text: strings would take more
    memory.
    """

    def __init__(self, package: Package, name: str) -> None:
        self._file: IO[bytes] | None = package.open(name) if name in package else None
        self._blocks: list[bytes] = []
        self._counts: list[int] = []
        """The number of texts up to the end of each block."""
        self._ends = array("I")
        """The end of each text in its block."""
        self._rest = b""
        self._end: re.Pattern[bytes] | None = None
        self._size = 0
        self.is_cut = False
        """Whether the limit for texts was reached."""

    def __getitem__(self, number: int) -> str:
        # Most programs number texts in the order of the cells, so the first page needs only the first of them.
        while number >= len(self._ends) and self._more():
            pass
        if not 0 <= number < len(self._ends):
            return ""
        block = bisect_right(self._counts, number)
        is_first = number == (self._counts[block - 1] if block else 0)
        raw = self._blocks[block][0 if is_first else self._ends[number - 1] : self._ends[number]]
        # Phonetic guides of East Asian texts would repeat the text in another script.
        if b"rPh" in raw:
            raw = _PHONETIC.sub(b"", raw)
        words = b"".join(_TEXT.findall(raw)).decode("utf-8", "replace")
        return unescaped(unescape(words) if "&" in words else words)[:_LONGEST]

    def close(self) -> None:
        """Close the part."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _more(self) -> bool:
        """Unpack the next texts; each ends with its `si` element."""
        if self._file is None:
            return False
        try:
            chunk = self._file.read(CHUNK)
        except DAMAGE as error:
            raise DamagedPartError(f"the texts of this workbook cannot be unpacked: {error}") from None
        self._size += len(chunk)
        self.is_cut = self._size > _MAX_STRINGS or len(self._rest) > _MAX_STRING
        if not chunk or self.is_cut:
            self.close()
            return False
        if self._end is None:
            root = re.search(rb"<(?:([\w.-]+):)?sst\b", chunk)
            prefix = re.escape(root[1] + b":") if root and root[1] else b""
            # An empty text can be `<si/>`, without an end tag.
            self._end = re.compile(rb"</" + prefix + rb"si>|<" + prefix + rb"si\s*/>")
        data = self._rest + chunk
        # A tag at the end of the chunk can be incomplete, and must not be searched yet.
        cut = data.rfind(b"<")
        ends = [match.end() for match in self._end.finditer(data, 0, max(cut, 0))]
        if ends:
            self._blocks.append(data[: ends[-1]])
            self._ends.extend(ends)
            self._counts.append(len(self._ends))
        self._rest = data[ends[-1] :] if ends else data
        return True


class CellStyles:
    """The number format of each cell style."""

    def __init__(self, tree: Node | None) -> None:
        # Not every `numFmt` below the root: a differential style can have one of its own, under the same number.
        formats = first(tree, "numFmts")
        own = {attribute(node, "numFmtId"): attribute(node, "formatCode") for node in found(formats, "numFmt")}
        self._codes: list[str] = []
        styles = first(tree, "cellXfs")
        for node in styles if styles is not None else ():
            number = attribute(node, "numFmtId", "0")
            code = own.get(number)
            # A file can redefine a built-in number; its own format counts.
            self._codes.append(code if code is not None else BUILT_IN.get(int(number), "") if number.isdigit() else "")

    def code(self, style: str) -> str:
        """The format of a style, by its number."""
        return self._codes[int(style)] if style.isdigit() and int(style) < len(self._codes) else ""


class CellReader:
    """Turns the XML of rows into cells."""

    def __init__(self, strings: SharedStrings, styles: CellStyles, *, from_1904: bool) -> None:
        self._strings, self._styles, self._from_1904 = strings, styles, from_1904

    def read(self, stream: RowStream, start: int, stop: int, region: Region) -> None:
        """Read the rows from `start` up to `stop`, without `stop`, into a region.

        Raises:
            DamagedPartError: the sheet is damaged there.
        """
        rows = stream.rows(start, stop)
        root = stream.root or b"<worksheet>"
        # A shared formula is written once, and later cells only name its number. The cell that holds it can be on an
        # earlier page, so the stream remembers those that it passed.
        shared = {
            rule["si"]: (place, words)
            for cell, rule, words in stream.shared
            if "si" in rule and (place := cell_of(cell.get("r", ""))) is not None
        }
        # The rows are a fragment. The start tag of the sheet around them declares their namespaces.
        tree = parse_xml(root.rstrip(b"/>") + b">" + rows + b"</" + stream.prefix + root_name(root) + b">")
        row = start - 1
        room = _MAX_TEXT
        for node in tree:
            if local(node) != "row":
                continue
            number = node.get("r", "")
            # The number is optional, and the rows of a damaged file can repeat it: rows never go backwards, as in
            # `RowStream`.
            row = max(row + 1, int(number) - 1) if number.isdigit() else row + 1
            if len(region.cells) > MAX_CELLS or room < 0:
                what = "too many cells" if room >= 0 else "too long texts"
                region.problems.append(f"Only the rows up to {row} of this page are shown: it has {what}.")
                return
            if is_on(node.get("hidden", "")):
                region.hidden_rows.append(row)
            column = -1
            for cell in node:
                name = cell.get("r", "").rstrip("0123456789")
                # Some programs leave out references: a cell without one follows the cell before it.
                column = column_of(name) if name.isascii() and name.isalpha() else column + 1
                if column < MAX_COLUMNS:
                    read = self._cell(cell, (row, column), shared)
                    if read.text or read.formula:
                        region.cells[row, column] = read
                        room -= len(read.text) + len(read.formula)
        if self._strings.is_cut:
            region.problems.append("Some texts of this sheet are not shown: the workbook has too many.")

    def _cell(self, cell: Node, place: tuple[int, int], shared: _Shared) -> Cell:
        value = rule = ""
        inline: Node | None = None
        for child in cell:
            name = local(child)
            if name == "v":
                value = child.text or ""
            elif name == "f":
                rule = _rule(child, place, shared)
            elif name == "is":
                inline = child
        kind = cell.get("t", "n")
        if kind == "inlineStr" and inline is not None:
            return Cell(_inline(inline), formula=rule)
        if not value:
            # An empty text is a result; an empty number is a formula that was never calculated.
            return Cell("" if kind == "str" else rule, formula=rule)
        return self._value(value, kind, cell.get("s", "0"), rule)

    def _value(self, value: str, kind: str, style: str, rule: str) -> Cell:
        if kind == "s":
            words = self._strings[int(value)] if value.strip().isdigit() else ""
            code = self._styles.code(style)
            # Only a fourth section formats texts, so that a format without semicolons need not be parsed.
            return Cell(shown_text(words, code) if ";" in code else words, formula=rule)
        if kind == "b":
            return Cell("TRUE" if is_on(value) else "FALSE", BOOLEAN, rule)
        if kind == "e":
            return Cell(value, ERROR, rule)
        if kind == "d":
            # Strict files can have ISO dates; other files have numbers with a date format.
            return Cell(value.replace("T00:00:00", "").replace("T", " ").removesuffix("Z"), DATE, rule)
        if kind in ("str", "inlineStr"):
            return Cell(unescaped(value), formula=rule)
        try:
            number = float(value)
        except ValueError:
            return Cell(value, formula=rule)
        words, dated = shown(number, self._styles.code(style), from_1904=self._from_1904)
        return Cell(words, DATE if dated else NUMBER, rule)


def root_name(root: bytes) -> bytes:
    """The name in a start tag, without its prefix."""
    match = re.match(rb"<(?:[\w.-]+:)?([\w.-]+)", root)
    return match[1] if match else b"worksheet"


def _inline(node: Node) -> str:
    if len(node) == 1 and not len(node[0]):
        return unescaped(node[0].text or "")
    for child in list(node):
        if local(child) == "rPh":
            node.remove(child)
    return unescaped(runs_of(node))


def _rule(node: Node, place: tuple[int, int], shared: _Shared) -> str:
    """A formula with its "="; a shared formula is moved from the cell that holds it."""
    words = (node.text or "").strip()
    number = node.get("si", "")
    if node.get("t") == "shared" and number:
        if words:
            shared[number] = (place, words)
        elif number in shared:
            (row, column), source = shared[number]
            words = moved(source, place[0] - row, place[1] - column)
    return f"={words}" if words else ""


def moved(rule: str, down: int, right: int) -> str:
    """A formula as it reads in another cell: references without "$" move along."""

    def move(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        column = match[3] if match[2] else letters(max(0, column_of(match[3]) + right))
        row = match[5] if match[4] else str(max(1, int(match[5]) + down))
        return f"{match[2]}{column}{match[4]}{row}"

    return _REFERENCE.sub(move, rule)
