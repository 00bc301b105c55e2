"""Pivot tables and named tables of an OpenDocument sheet, which stand behind all sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from a2c_documents.model import Element
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, first, found, parse_xml
from a2c_documents.parsers.opendocument.addresses import reference_of
from a2c_documents.parsers.sheets.grid import NamedTable, area_of
from a2c_documents.parsers.sheets.markup import attributes

_RANGE = re.compile(rb"<table:database-range\b([^>]*)>")
_PIVOTS = re.compile(rb"<table:data-pilot-tables>.*?</table:data-pilot-tables>", re.DOTALL)


def named_tables(raw: bytes, sheet: str) -> list[NamedTable]:
    """The ranges of a sheet that are tables by name."""
    found: list[NamedTable] = []
    for said in map(attributes, _RANGE.findall(raw, max(0, raw.rfind(b"<table:database-ranges")))):
        name, where = said.get("table:name", ""), reference_of(said.get("table:target-range-address", ""))
        area = area_of(where)
        if area is not None and where.rpartition("!")[0].strip("'") == sheet and not name.startswith("__Anonymous"):
            found.append(NamedTable(name, area, (), int(said.get("table:contains-header") != "false")))
    return found


def pivot_elements(raw: bytes, root: bytes, end: bytes, sheet: str) -> Iterator[tuple[int, int, Element]]:
    """The pivot tables on a sheet."""
    match = _PIVOTS.search(raw)
    if match is None:
        return
    try:
        tree = parse_xml(root + match[0] + end)
    except DamagedPartError:
        return
    for node in found(tree, "data-pilot-table"):
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
