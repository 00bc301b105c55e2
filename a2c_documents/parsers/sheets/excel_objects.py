"""Objects of an Excel worksheet: charts, pictures, text boxes, embedded files, pivot tables, named tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from a2c_documents.model import Element, image, note, text
from a2c_documents.parsers.office.charts import MAX_POINTS, Chart, Series, Values, chart_of
from a2c_documents.parsers.office.embedded import embedded_element
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.smartart import diagram_of
from a2c_documents.parsers.office.xml import (
    DamagedPartError,
    Node,
    attribute,
    drawn_pixels,
    first,
    found,
    local,
    number,
    parse_xml,
)
from a2c_documents.parsers.sheets.grid import DATE, MAX_COLUMNS, MAX_ROWS, NUMBER, Area, Cell, NamedTable, area_of
from a2c_documents.parsers.sheets.markup import unescaped

MAX_SHAPES = 500


def drawn_things(package: Package, name: str) -> Iterator[tuple[int, int, Element | Chart]]:
    """The objects in a drawing, each with the row and column of its upper left corner.

    Raises:
        DamagedPartError: the drawing is damaged.
    """
    anchors = [node for node in package.xml(name) if local(node).endswith("Anchor")]
    for anchor in anchors[:MAX_SHAPES]:
        area = area_of_anchor(anchor)
        # `found` also looks into groups. Every shape of a group has the place of the group: its own position is in
        # units of the group.
        for shape in found(anchor, "pic", "graphicFrame", "sp", "cxnSp"):
            thing = _shape(package, name, shape)
            if thing is not None:
                size = next((node for node in anchor if local(node) == "ext"), None)
                if isinstance(thing, Element) and thing.category == "image":
                    thing.metadata.setdefault("size", _size(size))
                thing.metadata["source_range"] = area.ref
                yield area.top, area.left, thing


def area_of_anchor(anchor: Node | None) -> Area:
    """The cells that an object is anchored to; the first cell if that is unknown."""
    ends = [first(anchor, name) for name in ("from", "to")]
    top, bottom = (_number(end, "row", MAX_ROWS) for end in ends)
    left, right = (_number(end, "col", MAX_COLUMNS) for end in ends)
    return Area(top, left, top, left) if ends[1] is None else Area(top, left, bottom, right)


def _number(node: Node | None, name: str, limit: int) -> int:
    child = first(node, name)
    words = (child.text or "").strip() if child is not None else ""
    return min(int(words), limit - 1) if words.isdigit() else 0


def _shape(package: Package, drawing: str, shape: Node) -> Element | Chart | None:
    properties = first(shape, "cNvPr")
    name, alt = attribute(properties, "name"), attribute(properties, "descr")
    kind = local(shape)
    thing: Element | Chart | None = None
    if kind == "pic":
        thing = _picture(package, drawing, shape, alt)
    elif kind == "sp":
        lines = ("".join(run.text or "" for run in found(line, "t")).strip() for line in found(shape, "p"))
        words = "\n".join(filter(None, lines))
        thing = text(words) if words else None
    elif kind == "graphicFrame":
        thing = _frame(package, drawing, shape, alt)
    if thing is not None and name:
        thing.metadata["shape"] = name
    return thing


def _picture(package: Package, drawing: str, shape: Node, alt: str) -> Element:
    relation = package.relations(drawing).get(attribute(first(shape, "blip"), "embed"))
    element = image(alt)
    if (size := first(first(first(shape, "spPr"), "xfrm"), "ext")) is not None:
        # Step by step, because `ext` below other elements is an extension and not a size.
        element.metadata["size"] = _size(size)
    if relation is not None and relation.target in package:
        element.picture = package.picture(relation.target)
    return element


def _size(node: Node | None) -> list[int]:
    """Width and height in pixels."""
    return [drawn_pixels(attribute(node, key)) for key in ("cx", "cy")]


def _frame(package: Package, drawing: str, shape: Node, alt: str) -> Element | Chart | None:
    node = first(shape, "chart", "relIds")
    if node is None:
        return None
    kind = local(node)
    relation = package.relations(drawing).get(attribute(node, "id" if kind == "chart" else "dm"))
    try:
        root = package.xml(relation.target if relation is not None else "")
    except DamagedPartError as error:
        return note("annotation", f"A {'chart' if kind == 'chart' else 'diagram'} cannot be read: {error}.")
    if kind == "relIds":
        return diagram_of(root)
    chart = chart_of(root)
    # A chart without a title can have a description, which names its subject.
    chart.title = chart.title or alt
    return chart


# ------------------------------------------------------------------------------------------------------- embedded files


MAX_OBJECTS = 500
_OBJECTS = re.compile(rb"<((?:[\w.-]+:)?oleObjects)\b.*?</\1>", re.DOTALL)


def embedded_objects(package: Package, part: str, root: bytes, tail: bytes) -> Iterator[tuple[int, int, Element]]:
    """The embedded files of a sheet, each with the row and column of its upper left corner.

    `root` is the start tag of the sheet, `tail` the bytes after its rows.

    Raises:
        DamagedPartError: the XML is invalid.
    """
    match = _OBJECTS.search(tail)
    if match is None:
        return
    name = root[1:].split(None, 1)[0].rstrip(b"/>")
    # The start tag of the sheet declares the prefixes in the fragment. Those in fallbacks for older programs can be
    # undeclared, hence `recover`.
    tree = parse_xml(root + match[0] + b"</" + name + b">", recover=True)
    relations = package.relations(part)
    for node in list(found(tree, "oleObject"))[:MAX_OBJECTS]:
        area = area_of_anchor(first(node, "anchor"))
        relation = relations.get(next((value for key, value in node.items() if key.endswith("}id")), ""))
        yield area.top, area.left, embedded_element(package, relation, attribute(node, "progId"), source_range=area.ref)


# --------------------------------------------------------------------------------------------------------------- charts


Cells = dict[tuple[int, int], Cell]


def filled_chart(chart: Chart, cells: Cells, sheet: str) -> Element:
    """A chart with values from the cells of its sheet, where the chart itself keeps none."""
    series = [
        # Excel keeps a copy of the values in the chart. Libraries such as openpyxl write only the ranges, and the
        # values come from the cells.
        _looking_alike(one, cells, sheet) if any(one.values.shown) else _filled(one, cells, sheet)
        for one in chart.series
    ]
    title = chart.title or (series[0].name if len(series) == 1 else "")
    return Chart(chart.kinds, title, series, chart.metadata).element()


def _filled(one: Series, cells: Cells, sheet: str) -> Series:
    name = one.name or " ".join(filter(None, _from_cells(one.name_source, cells, sheet).shown))
    categories = one.categories
    if not any(categories.shown):
        categories = _from_cells(categories.source, cells, sheet)
    return Series(name, _from_cells(one.values.source, cells, sheet), categories, one.name_source)


def _looking_alike(one: Series, cells: Cells, sheet: str) -> Series:
    values, categories = (_as_in_cells(kept, cells, sheet) for kept in (one.values, one.categories))
    return Series(one.name, values, categories, one.name_source)


def _as_in_cells(kept: Values, cells: Cells, sheet: str) -> Values:
    """Numbers without a format as their cells show them, if all these cells are on the page."""
    # Some programs write charts without number formats. A chart should show "12%" where the cells show it, so the text
    # of the cells is used, but only if they are all on the page.
    if not kept.is_plain:
        return kept
    source = _cells_at(kept.source, cells, sheet)
    pairs = list(zip(kept.shown, source, strict=False))
    if len(pairs) < len(kept.shown) or any(shown and cell.kind not in (NUMBER, DATE) for shown, cell in pairs):
        return kept
    return Values(kept.values, [cell.text if shown else "" for shown, cell in pairs], kept.source)


def _cells_at(ref: str, cells: Cells, sheet: str) -> list[Cell]:
    named, _, _ = ref.rpartition("!")
    area = area_of(ref)
    # Only the cells of this page are at hand, so a range on another sheet has no values. A name in quotes has its own
    # quotes doubled.
    if area is None or (named and named.strip("'").replace("''", "'") != sheet):
        return []
    places = ((row, column) for row in range(area.top, area.bottom + 1) for column in range(area.left, area.right + 1))
    return [cells.get(place, Cell("")) for place in islice(places, MAX_POINTS)]


def _from_cells(ref: str, cells: Cells, sheet: str) -> Values:
    result = Values(source=ref)
    for cell in _cells_at(ref, cells, sheet):
        # The text of a cell is formatted. A percentage or a currency is not a number again, and stays a text.
        value = number(cell.text.replace(",", ""), float("nan")) if cell.kind == NUMBER else float("nan")
        result.values.append(value if value == value else cell.text or None)
        result.shown.append(cell.text)
    return result


# ---------------------------------------------------------------------------------------- named tables and pivot tables


def named_table(tree: Node | None) -> NamedTable | None:
    """A range that its author made a table."""
    area = area_of(attribute(tree, "ref"))
    if tree is None or area is None:
        return None
    headers = tuple(unescaped(node.get("name", "")) for node in found(tree, "tableColumn"))
    rows = tree.get("headerRowCount", "1")
    name = tree.get("displayName", "") or tree.get("name", "")
    return NamedTable(name, area, headers, int(rows) if rows.isdigit() else 1)


def pivot_element(package: Package, name: str) -> Iterator[tuple[int, int, Element]]:
    """A pivot table: its row and column fields, its values, and the range of its data.

    Raises:
        DamagedPartError: a part is damaged.
    """
    tree = package.xml(name)
    where = attribute(first(tree, "location"), "ref")
    area = area_of(where)
    if area is None:
        return
    cache = package.related(name, "pivotCacheDefinition")
    source = package.xml(cache) if cache else None
    fields = [node.get("name", "") for node in _below(source, "cacheFields")]
    content = {
        "name": tree.get("name", ""),
        "rows": [_field(fields, node, "x") for node in _below(tree, "rowFields")],
        "columns": [_field(fields, node, "x") for node in _below(tree, "colFields")],
        "values": [_value(fields, node) for node in found(tree, "dataField")],
        "filters": [_field(fields, node, "fld") for node in _below(tree, "pageFields")],
        "source": _source(source),
    }
    values = ", ".join(content["values"])
    by = ", ".join(name for name in [*content["rows"], *content["columns"]] if name != "Values")
    summary = f"{content['name']}: {values} by {by}" if by else f"{content['name']}: {values}"
    yield area.top, area.left, Element("pivot_table", content, summary, {"source_range": where})


def _below(tree: Node | None, name: str) -> list[Node]:
    holder = first(tree, name)
    return list(holder) if holder is not None else []


def _field(fields: list[str], node: Node, key: str) -> str:
    number = node.get(key, "")
    # With several values, Excel adds a field for their names, with this number.
    if number == "-2":
        return "Values"
    return fields[int(number)] if number.isdigit() and int(number) < len(fields) else f"Field {number}"


def _value(fields: list[str], node: Node) -> str:
    how, field = node.get("subtotal", "sum"), _field(fields, node, "fld")
    return f"{node.get('name') or field} ({how} of {field})"


def _source(tree: Node | None) -> str:
    node = first(tree, "worksheetSource")
    if node is not None:
        ref = node.get("ref", "") or node.get("name", "")
        sheet = node.get("sheet", "")
        return f"{sheet}!{ref}" if sheet and ref else ref or sheet
    kind = attribute(first(tree, "cacheSource"), "type")
    return f"{kind} data" if kind else ""
