"""Everything of an Excel sheet that is not in its rows: what lies over them, and what stands behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from a2c_documents.model import Element
from a2c_documents.parsers.office.charts import Chart
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.parsers.sheets.charts import filled_chart
from a2c_documents.parsers.sheets.comments import comments_of, threaded_comments_of
from a2c_documents.parsers.sheets.drawing import drawn_things
from a2c_documents.parsers.sheets.edges import edges_of
from a2c_documents.parsers.sheets.grid import Area, NamedTable, Region, area_of, columns_in
from a2c_documents.parsers.sheets.markup import attributes, is_on
from a2c_documents.parsers.sheets.objects import embedded_objects
from a2c_documents.parsers.sheets.pivots import named_table, pivot_element
from a2c_documents.parsers.sheets.rows import RowStream

MAX_SCANNED = 1_000_000_000
"""Bytes of a sheet that is read to its end for what stands there: that takes two or three seconds."""
_MERGED = re.compile(rb"""<(?:[\w.-]+:)?mergeCell\b[^>]*?\bref\s*=\s*["']([A-Z0-9:$]+)["']""")
_LINK = re.compile(rb"<(?:[\w.-]+:)?hyperlink\b([^>]*)>")
_COLUMN = re.compile(rb"<(?:[\w.-]+:)?col\b([^>]*)>")
_MAX_MERGED, _MAX_LINKS = 20_000, 20_000


@dataclass(slots=True)
class Around:
    """What belongs to a sheet as a whole; each page shows its own part of it."""

    merged: list[Area] = field(default_factory=list[Area])
    links: list[tuple[Area, str]] = field(default_factory=list[tuple[Area, str]])
    hidden_columns: list[int] = field(default_factory=list[int])
    tables: list[NamedTable] = field(default_factory=list[NamedTable])
    floating: list[tuple[int, int, Element | Chart]] = field(default_factory=list[tuple[int, int, Element | Chart]])
    comments: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    threads: list[tuple[int, int, Element]] = field(default_factory=list[tuple[int, int, Element]])
    edges: list[Element] = field(default_factory=list[Element])
    problems: list[str] = field(default_factory=list[str])

    def lay_over(self, region: Region, rows: Area, sheet: str) -> None:
        """Put what belongs to some rows over their cells."""
        region.merged = [area for area in self.merged if area.meets(rows)]
        region.tables = [table for table in self.tables if table.area.meets(rows)]
        region.hidden_columns = self.hidden_columns
        region.links = {
            (area.top, area.left): url
            for area, url in self.links
            if area.meets(rows) and (area.top, area.left) in region.cells
        }
        region.floating = [
            (row, column, filled_chart(one, region.cells, sheet) if isinstance(one, Chart) else one)
            for row, column, one in self.floating
            if rows.top <= row <= rows.bottom
        ]
        region.comments = [one for one in self.comments if rows.top <= one[0] <= rows.bottom]
        if rows.top == 0:
            region.edges = self.edges
            region.problems.extend(self.problems)


def read_around(package: Package, part: str, stream: RowStream | None, tail: bytes | None = None) -> Around:
    """What belongs to a sheet. Without its rows, what other parts say; what is damaged is a problem that is told.

    `tail` is what stands behind the rows, where that is known already.
    """
    around = Around()
    relations = package.relations(part)
    if part in package.lost:
        around.problems.append(f"What belongs to this sheet cannot be read: {package.lost[part]}.")
    for relation in relations.values():
        try:
            _add_related(around, package, relation.kind, relation.target)
        except DamagedPartError as error:
            around.problems.append(f"The {relation.kind} of this sheet cannot be read: {error}.")
    # Excel repeats a thread as one comment of the older kind, for programs that know no threads.
    places = {one[:2] for one in around.threads}
    around.comments = around.threads + [one for one in around.comments if one[:2] not in places]
    if stream is not None:
        around.hidden_columns = _hidden_columns(stream.head)
        if tail is None and package.size(part) > MAX_SCANNED:
            around.problems.append("Merged cells and links of this sheet are not shown: it is too long for that.")
        else:
            _add_tail(around, package, part, stream, tail)
    return around


def _add_related(around: Around, package: Package, kind: str, target: str) -> None:
    if kind == "table":
        named = named_table(package.xml(target))
        around.tables.extend([named] if named is not None else [])
    elif kind == "drawing":
        around.floating.extend(drawn_things(package, target))
    elif kind == "pivotTable":
        around.floating.extend(pivot_element(package, target))
    elif kind == "comments":
        around.comments.extend(comments_of(package, target))
    elif kind == "threadedComment":
        around.threads.extend(threaded_comments_of(package, target))


def _hidden_columns(head: bytes) -> list[int]:
    ranges: list[tuple[int, int]] = []
    for column in map(attributes, _COLUMN.findall(head)):
        ends = column.get("min", ""), column.get("max", "") or column.get("min", "")
        if is_on(column.get("hidden", "")) and all(end.isdecimal() and len(end) < 8 for end in ends):
            ranges.append((int(ends[0]) - 1, int(ends[1])))
    return columns_in(ranges)


def _add_tail(around: Around, package: Package, part: str, stream: RowStream, tail: bytes | None) -> None:
    """What stands behind the rows: merged cells, links, embedded files, headers and footers of the print."""
    try:
        tail = stream.read_tail() if tail is None else tail
    except DamagedPartError as error:
        around.problems.append(f"The end of this sheet cannot be read: {error}.")
        return
    try:
        around.floating.extend(embedded_objects(package, part, stream.root, tail))
    except DamagedPartError as error:
        around.problems.append(f"What is embedded in this sheet cannot be read: {error}.")
    areas = (area_of(ref.decode("ascii")) for ref in _MERGED.findall(tail)[:_MAX_MERGED])
    around.merged = [area for area in areas if area is not None]
    relations = package.relations(part)
    for raw in _LINK.findall(tail)[:_MAX_LINKS]:
        link = attributes(raw)
        area = area_of(link.get("ref", ""))
        name = next((value for key, value in link.items() if key.endswith(":id")), "")
        place = link.get("location", "")
        url = (relations[name].target if name in relations else "") + (f"#{place}" if place else "")
        if area is not None and url:
            around.links.append((area, url))
    around.edges = edges_of(tail)
