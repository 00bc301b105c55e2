"""Pivot tables and named tables of an Excel sheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from a2c_documents.model import Element
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import attribute, first, found
from a2c_documents.parsers.sheets.grid import NamedTable, area_of
from a2c_documents.parsers.sheets.markup import unescaped


def named_table(tree: Any | None) -> NamedTable | None:
    """A range that is a table by name."""
    area = area_of(attribute(tree, "ref"))
    if tree is None or area is None:
        return None
    headers = tuple(unescaped(node.get("name", "")) for node in found(tree, "tableColumn"))
    rows = tree.get("headerRowCount", "1")
    name = tree.get("displayName", "") or tree.get("name", "")
    return NamedTable(name, area, headers, int(rows) if rows.isdigit() else 1)


def pivot_element(package: Package, name: str) -> Iterator[tuple[int, int, Element]]:
    """A pivot table: which fields make its rows and columns, what is counted, and where the data are.

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


def _below(tree: Any | None, name: str) -> list[Any]:
    holder = first(tree, name)
    return list(holder) if holder is not None else []


def _field(fields: list[str], node: Any, key: str) -> str:
    number = node.get(key, "")
    if number == "-2":
        return "Values"
    return fields[int(number)] if number.isdigit() and int(number) < len(fields) else f"Field {number}"


def _value(fields: list[str], node: Any) -> str:
    how, field = node.get("subtotal", "sum"), _field(fields, node, "fld")
    return f"{node.get('name') or field} ({how} of {field})"


def _source(tree: Any | None) -> str:
    node = first(tree, "worksheetSource")
    if node is not None:
        ref = node.get("ref", "") or node.get("name", "")
        sheet = node.get("sheet", "")
        return f"{sheet}!{ref}" if sheet and ref else ref or sheet
    kind = attribute(first(tree, "cacheSource"), "type")
    return f"{kind} data" if kind else ""
