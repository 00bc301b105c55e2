"""OpenDocument spreadsheets (ods): the file keeps the text of each cell as shown, so no number format is applied.

All sheets are in one XML part. A search in the bytes divides it into sheets and rows; only the rows of a page become a
tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from a2c_documents.model import Element, UnreadableFileError, note, text
from a2c_documents.parsers.office.comments import Comment
from a2c_documents.parsers.office.facts import opendocument_facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError, Node, attribute, first, found, local, parse_xml, words_of
from a2c_documents.parsers.opendocument.addresses import formula_of, reference_of
from a2c_documents.parsers.opendocument.objects import SHAPES, Objects
from a2c_documents.parsers.sheets.comments import comment_elements
from a2c_documents.parsers.sheets.grid import (
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
    NamedTable,
    Region,
    SheetInfo,
    area_of,
    cell_of,
    details_of,
    pages_of,
    ref_of,
)
from a2c_documents.parsers.sheets.markup import attributes

MAX_CONTENT = 250_000_000
MAX_SHAPES = 500
_ROOT = re.compile(rb"<office:document-content\b[^>]*>")
_TABLES = re.compile(rb"<(/?)table:(table|dde-links)(?=[\s/>])([^>]*)>")
"""The start and end of tables. The tables in `dde-links` are copies of ranges of other files."""
_ROW = re.compile(rb"<table:table-row\b([^>]*)>")
_STYLE = re.compile(rb'<style:style\b([^>]*style:family="table"[^>]*)>\s*(<style:table-properties\b[^>]*>)?')
_COLUMN = re.compile(rb"<table:table-column\b([^>]*)>")
_SHAPES = re.compile(rb"<table:shapes>.*?</table:shapes>", re.DOTALL)
_END = b"</office:document-content>"
_FILLED = (b"<text:p", b" office:value-type=", b" table:formula=")


@dataclass(frozen=True, slots=True)
class _Rows:
    """A group of equal rows: the first row, their number, and the position of their XML."""

    first: int
    count: int
    start: int
    end: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The positions of the parts of a sheet in the XML, and the page style that prints it."""

    rows: list[_Rows]
    shapes: bytes
    hidden_columns: list[int]
    tables: list[NamedTable]
    master: str


class OpenDocumentBook:
    """An open workbook: the XML in memory, and the positions of its rows."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._objects = Objects(package)
        if package.is_encrypted:
            raise UnreadableFileError("this workbook is protected by a password")
        self._raw = package.read("content.xml", MAX_CONTENT)
        self.sheets: list[SheetInfo] = []
        self._inner: list[_Sheet] = []
        self._divide()
        self.facts = opendocument_facts(package)
        self.facts.details |= details_of(self.sheets)

    def close(self) -> None:
        """Close the archive."""
        self._package.close()

    # ---------------------------------------------------------------------------------------------------------- sheets

    def _divide(self) -> None:
        """Find the sheets, and the rows of each."""
        raw = self._raw
        # A tree of 250 MB of XML would take gigabytes of memory, and all of it to show one page. The conventional
        # prefixes (`table:`, `office:`) are part of what every program writes, so that the bytes can be searched for
        # them.
        root = _ROOT.search(raw)
        if root is None:
            raise UnreadableFileError("this file is not a valid workbook: it contains no spreadsheet")
        if b"<!DOCTYPE" in raw[: root.start()] or b"<!ENTITY" in raw[: root.start()]:
            raise UnreadableFileError("this workbook declares XML entities, which spreadsheet programs never do")
        self._root = root[0]
        styles: dict[str, tuple[str, bool]] = {}
        for said, shape in _STYLE.findall(raw):
            style = attributes(said)
            is_hidden = attributes(shape).get("table:display") == "false"
            styles[style.get("style:name", "")] = style.get("style:master-page-name", ""), is_hidden
        for match, end, nested in self._tables(raw.find(b"<office:spreadsheet")):
            said = attributes(match[3])
            master, is_hidden = styles.get(said.get("table:style-name", ""), ("", False))
            self.sheets.append(SheetInfo(said.get("table:name", ""), "hidden" if is_hidden else ""))
            self._inner.append(self._sheet(match.end(), end, nested, master))
        if not self.sheets:
            raise UnreadableFileError("this workbook has no sheets")

    def _tables(self, start: int) -> Iterator[tuple[re.Match[bytes], int, list[tuple[int, int]]]]:
        """The tables on the top level, which are the sheets: start tag, end, and the positions of tables inside."""
        opened: list[re.Match[bytes]] = []
        nested: list[tuple[int, int]] = []
        for match in _TABLES.finditer(self._raw, start):
            if not match[1]:
                opened.extend([] if match[3].endswith(b"/") else [match])
            elif opened:
                begun = opened.pop()
                if len(opened) == 1:
                    nested.append((begun.start(), match.end()))
                elif not opened:
                    if begun[2] == b"table":
                        yield begun, match.start(), nested
                    nested = []
        # The end of a damaged file is missing.
        if opened and opened[0][2] == b"table":
            yield opened[0], len(self._raw), nested

    def _sheet(self, start: int, end: int, nested: list[tuple[int, int]], master: str) -> _Sheet:
        raw = self._raw
        rows = list(self._rows_of(start, end, nested))
        # A cell with a value has a paragraph, a type or a formula; most have several of them. Counting them gives the
        # number of filled cells without parsing them.
        counted = [(group, max(raw.count(mark, group.start, group.end) for mark in _FILLED)) for group in rows]
        filled = ((group, count) for group, count in counted if count)
        self.sheets[-1].pages = pages_of(
            (group.first + more, count) for group, count in filled for more in range(group.count)
        )
        # A picture or chart can be where no cells are.
        kept = [group for group, count in counted if count or raw.find(b"<draw:", group.start, group.end) >= 0]
        before_rows = rows[0].start if rows else end
        shapes = _SHAPES.search(raw, start, before_rows)
        hidden_columns = _hidden_columns(_SHAPES.sub(b"", raw[start:before_rows]))
        # The headers are read here once, because a later page does not contain them.
        tables = [self._headed(table, kept) for table in named_tables(raw, self.sheets[-1].name)]
        return _Sheet(kept, shapes[0] if shapes else b"", hidden_columns, tables, master)

    def _rows_of(self, start: int, end: int, nested: list[tuple[int, int]]) -> Iterator[_Rows]:
        row = 0
        # The rows of a table in a cell are not rows of the sheet.
        outside = zip([start, *(stop for _, stop in nested)], [*(begin for begin, _ in nested), end], strict=True)
        # A row has its end tag before the next row begins; a row without one is empty (`<table:table-row …/>`).
        matches = [match for begin, stop in outside for match in _ROW.finditer(self._raw, begin, stop)]
        stops = [match.start() for match in matches[1:]] + [end]
        for match, stop in zip(matches, stops, strict=False):
            said = match[1]
            # Equal rows are stored once with a count: the XML of a group is parsed once for all its rows, and a million
            # empty rows cost nothing.
            count, is_hidden = 1, b"table:visibility=" in said and b'"visible"' not in said
            if b"number-rows-repeated" in said:
                words = attributes(said).get("table:number-rows-repeated", "1")
                count = int(words) if words.isdigit() and len(words) < 8 else 1
            close = self._raw.rfind(b"</table:table-row>", match.end(), stop)
            if close >= 0:
                filled = min(count, MAX_ROWS - row)
                yield _Rows(row, max(0, filled), match.start(), close + len(b"</table:table-row>"), is_hidden)
            row += count

    def _headed(self, table: NamedTable, rows: list[_Rows]) -> NamedTable:
        """A table with its headers, which its later pages need too."""
        region = Region()
        for group in rows:
            if table.header_rows and group.first <= table.area.top < group.first + group.count:
                self._read(group, range(table.area.top, table.area.top + 1), region)
        places = ((table.area.top, column) for column in range(table.area.left, table.area.right + 1))
        headers = tuple(region.cells[place].text if place in region.cells else "" for place in places)
        return replace(table, headers=headers if any(headers) else ())

    def region(self, sheet: int, first: int, last: int) -> Region:
        """The rows from `first` to `last`, with everything that belongs to them."""
        inner = self._inner[sheet]
        tables = [table for table in inner.tables if first <= table.area.bottom and table.area.top <= last]
        region = Region(hidden_columns=inner.hidden_columns, tables=tables)
        if first == 0:
            self._add_beside(sheet, region)
        # Pictures and comments can be below the last row with a value.
        if (first, last) == self.sheets[sheet].pages[-1]:
            last = MAX_ROWS
        for group in inner.rows:
            if group.first > last or group.first + group.count <= first:
                continue
            rows = range(max(first, group.first), min(last + 1, group.first + group.count))
            if not self._read(group, rows, region):
                break
        return region

    def _read(self, group: _Rows, rows: range, region: Region) -> bool:
        """Read some rows of a group into a region; False if the region is full."""
        try:
            (node,) = parse_xml(self._root + self._raw[group.start : group.end] + _END)
        except (DamagedPartError, ValueError) as error:
            region.problems.append(f"Row {group.first + 1} cannot be read: {error}.")
            return True
        # A group of equal rows can have a million rows in a few bytes, and each of them makes cells.
        for row in rows:
            if len(region.cells) > MAX_CELLS:
                region.problems.append(f"Only the rows up to {row} of this page are shown: it has too many cells.")
                return False
            read_row(node, row, region, self._objects)
            if group.hidden:
                region.hidden_rows.append(row)
        return True

    def _add_beside(self, sheet: int, region: Region) -> None:
        """Add shapes outside cells, pivot tables, header and footer."""
        inner = self._inner[sheet]
        if inner.shapes:
            try:
                (shapes,) = parse_xml(self._root + inner.shapes + _END)
                for shape in shapes[:MAX_SHAPES]:
                    region.floating.extend((0, 0, one) for one in shape_elements(shape, self._objects))
            except (DamagedPartError, ValueError) as error:
                region.problems.append(f"The shapes of this sheet cannot be read: {error}.")
        region.floating.extend(pivot_elements(self._raw, self._root, _END, self.sheets[sheet].name))
        region.edges = edges_of(self._package.optional("styles.xml"), inner.master) if inner.master else []


def _hidden_columns(head: bytes) -> list[int]:
    """The hidden columns, from the bytes before the rows."""
    hidden: list[int] = []
    column = 0
    for raw in _COLUMN.findall(head):
        said = attributes(raw)
        words = said.get("table:number-columns-repeated", "1")
        end = min(MAX_COLUMNS, column + (int(words) if words.isdigit() and len(words) < 8 else 1))
        if said.get("table:visibility", "visible") != "visible":
            hidden.extend(range(column, end))
        column = end
    return hidden


# ---------------------------------------------------------------------------------------------------------------- cells


_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_KINDS = {
    "float": NUMBER, "percentage": NUMBER, "currency": NUMBER, "date": DATE, "time": DATE, "boolean": BOOLEAN,
}  # fmt: skip
_DURATION = re.compile(r"PT([0-9]+)H([0-9]+)M([0-9]+)")
_ERROR = re.compile(r"(?:#[A-Z/0?!]+[!?A0]|Err:[0-9]+)$")


def read_row(node: Node, row: int, region: Region, objects: Objects) -> None:
    """Read the cells of a row into a region."""
    column = 0
    for cell in node:
        if local(cell) not in ("table-cell", "covered-table-cell") or column >= MAX_COLUMNS:
            continue
        repeated = _count(cell, "number-columns-repeated")
        # The cell after the last value is often empty and repeated 16,000 times.
        if len(cell) or cell.get(_OFFICE + "value-type") or cell.get(_TABLE + "formula"):
            read = _cell(cell)
            for place in range(column, min(column + repeated, MAX_COLUMNS)):
                if read.text or read.formula:
                    region.cells[row, place] = read
            _add_over(cell, row, column, region, objects)
        column += repeated


def _count(cell: Node, name: str) -> int:
    words = cell.get(_TABLE + name, "1")
    return min(max(1, int(words)), MAX_ROWS) if words.isdigit() and len(words) < 8 else 1


def _cell(cell: Node) -> Cell:
    kind = _KINDS.get(cell.get(_OFFICE + "value-type", ""), TEXT)
    words = "\n".join(_lines(cell))
    date = cell.get(_OFFICE + "date-value", "")
    # The shown text depends on the language of the author. The value is the same date in ISO form.
    if date:
        words = date.replace("T00:00:00", "").replace("T", " ").partition(".")[0]
    elif not words:
        words = _value(cell)
    rule = formula_of(cell.get(_TABLE + "formula", ""))
    # An empty text is a result; a formula without a type was never calculated, and is shown itself.
    if not words and not cell.get(_OFFICE + "value-type"):
        words = rule
    # Some programs write the constants as formulas.
    return Cell(words, ERROR if _ERROR.match(words) else kind, "" if rule in ("=TRUE()", "=FALSE()") else rule)


def _lines(cell: Node) -> Iterator[str]:
    """The paragraphs of a cell; a table in it gives one line for each of its rows."""
    for part in cell:
        if part.tag == _TEXT + "p":
            yield words_of_line(part)
        elif part.tag == _TABLE + "table":
            rows = ([" ".join(_own_lines(one)) for one in row] for row in part.iter(_TABLE + "table-row"))
            yield from filter(None, (" | ".join(filter(None, row)) for row in rows))


def _own_lines(cell: Node) -> list[str]:
    return [words_of_line(line) for line in cell if line.tag == _TEXT + "p"]


def _value(cell: Node) -> str:
    """The value of a cell without a shown text. Some programs write only the value."""
    if duration := _DURATION.match(cell.get(_OFFICE + "time-value", "")):
        return ":".join(duration.groups())
    truth = cell.get(_OFFICE + "boolean-value", "").upper()
    return truth or cell.get(_OFFICE + "value", "") or cell.get(_OFFICE + "string-value", "")


def words_of_line(node: Node, fields: Mapping[str, str] | None = None) -> str:
    """The text of a paragraph; spaces and line breaks are elements. `fields` maps elements to the text shown for
    them."""
    parts: list[str] = [node.text or ""]
    waiting: list[Node | str] = list(reversed(node))
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


def _add_over(cell: Node, row: int, column: int, region: Region, objects: Objects) -> None:
    """Add comments, pictures and links of a cell, and the area that it spans."""
    down, right = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
    if down > 1 or right > 1:
        region.merged.append(Area(row, column, row + down - 1, column + right - 1))
    for child in cell:
        name = local(child)
        if name == "annotation":
            region.comments.extend(comment_elements([_comment(child)], ref_of(row, column)))
        elif name in SHAPES:
            # A shape is anchored in the cell of its upper left corner, and names the cell of the other corner.
            end = cell_of(attribute(child, "end-cell-address").rpartition(".")[2])
            area = Area(row, column, *(end or (row, column)))
            for element in shape_elements(child, objects):
                element.metadata["source_range"] = area.ref
                region.floating.append((row, column, element))
        elif name == "p":
            url = next((attribute(one, "href") for one in child.iter() if local(one) == "a"), "")
            if url:
                region.links[row, column] = url


def _comment(node: Node) -> Comment:
    words = "\n".join(words_of_line(line) for line in node if local(line) in ("p", "list")).strip()
    author, date = (words_of(node.find(f"{{*}}{name}")) for name in ("creator", "date"))
    return Comment("", words, author, date.partition(".")[0].removesuffix("T00:00:00"))


def shape_elements(shape: Node, objects: Objects) -> list[Element]:
    """The content of a shape; a text box becomes a text."""
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


# -------------------------------------------------------------------------------------------------- headers and footers


_FIELDS = {
    "page-number": "[page]", "page-count": "[pages]", "date": "[date]", "time": "[time]", "file-name": "[file]",
    "sheet-name": "[sheet]", "title": "[title]",
}  # fmt: skip


def edges_of(styles: Node | None, master: str) -> list[Element]:
    """The printed header and footer of a page style; bars separate left, middle and right."""
    page = next((node for node in found(styles, "master-page") if attribute(node, "name") == master), None)
    edges: list[Element] = []
    for node in page if page is not None else ():
        if local(node) in ("header", "footer") and attribute(node, "display") != "false":
            # A header has up to three regions, or paragraphs of its own.
            regions = [part for part in node if local(part).startswith("region-")] or [node]
            said = ("\n".join(words_of_line(line, _FIELDS) for line in found(part, "p")).strip() for part in regions)
            if words := " | ".join(filter(None, said)):
                edges.append(note(local(node), words))
    return edges


# ---------------------------------------------------------------------------------------- named tables and pivot tables


_RANGE = re.compile(rb"<table:database-range\b([^>]*)>")
_PIVOTS = re.compile(rb"<table:data-pilot-tables>.*?</table:data-pilot-tables>", re.DOTALL)


def named_tables(raw: bytes, sheet: str) -> list[NamedTable]:
    """The ranges of a sheet that are named tables."""
    found: list[NamedTable] = []
    for said in map(attributes, _RANGE.findall(raw, max(0, raw.rfind(b"<table:database-ranges")))):
        name, where = said.get("table:name", ""), reference_of(said.get("table:target-range-address", ""))
        area = area_of(where)
        # LibreOffice creates anonymous ranges for its filters.
        if area is not None and where.rpartition("!")[0].strip("'") == sheet and not name.startswith("__Anonymous"):
            found.append(NamedTable(name, area, (), int(said.get("table:contains-header") != "false")))
    return found


def pivot_elements(raw: bytes, root: bytes, end: bytes, sheet: str) -> Iterator[tuple[int, int, Element]]:
    """The pivot tables of a sheet."""
    match = _PIVOTS.search(raw)
    if match is None:
        return
    try:
        tree = parse_xml(root + match[0] + end)
    except DamagedPartError:
        return
    for node in found(tree, "data-pilot-table"):
        # Addresses are `Sheet.A1:Sheet.B2`, and the name of a sheet can contain dots as well.
        ends = [part.rpartition(".") for part in attribute(node, "target-range-address").split(":")]
        area = area_of(":".join(cell for _, _, cell in ends))
        if area is None or ends[0][0].strip("$'") != sheet:
            continue
        fields: dict[str, list[str]] = {}
        for field in found(node, "data-pilot-field"):
            name = attribute(field, "source-field-name") or "Values"
            how, where = attribute(field, "function"), attribute(field, "orientation")
            fields.setdefault(where, []).append(f"{name} ({how} of {name})" if where == "data" and how else name)
        source = reference_of(attribute(first(node, "source-cell-range"), "cell-range-address"))
        content = {
            "name": attribute(node, "name"),
            "rows": fields.get("row", []),
            "columns": fields.get("column", []),
            "values": fields.get("data", []),
            "filters": fields.get("page", []),
            "source": source,
        }
        by = ", ".join(content["rows"])
        summary = f"{content['name']}: {', '.join(content['values'])} by {by}"
        yield area.top, area.left, Element("pivot_table", content, summary, {"source_range": area.ref})
