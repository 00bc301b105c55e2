"""What an Excel sheet has besides cells: comments, pivot tables, named tables, headers and footers of the print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.etree import ElementTree

from a2c_smcp.documents.model import Element, note
from a2c_smcp.documents.parsers.sheets.grid import NamedTable, area_of, cell_of
from a2c_smcp.documents.parsers.sheets.xml import Parts, attribute, first, found, unescaped, words_of

MAX_COMMENTS = 2_000
_EDGE = re.compile(rb"<(?:[\w.-]+:)?(odd|even|first)(Header|Footer)\b[^>]*>([^<]*)<")
_EDGE_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K[0-9]{2}[+-][0-9]{3}|[0-9]{1,3}|[BIUESXYOHG])')
_EDGE_WORDS = {"&P": "[page]", "&N": "[pages]", "&D": "[date]", "&T": "[time]", "&F": "[file]", "&A": "[sheet]"}


def comments_of(parts: Parts, name: str, *, threaded: bool) -> Iterator[tuple[int, int, Element]]:
    """The comments of a part, each with its cell.

    Raises:
        UnreadableFileError: the part is damaged.
    """
    tree = parts.tree(name)
    people = _people(parts) if threaded else [node.text or "" for node in found(tree, "author")]
    for node in list(found(tree, "threadedComment" if threaded else "comment"))[:MAX_COMMENTS]:
        place = cell_of(node.get("ref", ""))
        words = _words(node, threaded)
        if place is None or not words:
            continue
        author = _author(node, people)
        element = note("annotation", words, cell=node.get("ref", ""), **({"author": author} if author else {}))
        element.metadata = {"source_range": node.get("ref", ""), "kind": "comment"}
        if threaded:
            element.metadata["threaded"] = True
            if node.get("parentId"):
                element.metadata["reply"] = True
        yield *place, element


def _words(node: ElementTree.Element, threaded: bool) -> str:
    body = first(node, "text")
    return unescaped((body.text or "") if threaded and body is not None else words_of(body)).strip()


def _author(node: ElementTree.Element, people: list[str] | dict[str, str]) -> str:
    if isinstance(people, dict):
        return people.get(node.get("personId", ""), "")
    number = node.get("authorId", "")
    return people[int(number)] if number.isdigit() and int(number) < len(people) else ""


def _people(parts: Parts) -> dict[str, str]:
    tree = parts.tree("xl/persons/person.xml")
    return {node.get("id", ""): node.get("displayName", "") for node in found(tree, "person")}


def named_table(tree: ElementTree.Element | None) -> NamedTable | None:
    """A range that is a table by name."""
    area = area_of(attribute(tree, "ref"))
    if tree is None or area is None:
        return None
    headers = tuple(unescaped(node.get("name", "")) for node in found(tree, "tableColumn"))
    rows = tree.get("headerRowCount", "1")
    name = tree.get("displayName", "") or tree.get("name", "")
    return NamedTable(name, area, headers, int(rows) if rows.isdigit() else 1)


# --------------------------------------------------------------------------------------------------------- pivot tables


def pivot_element(parts: Parts, name: str) -> Iterator[tuple[int, int, Element]]:
    """A pivot table: which fields make its rows and columns, what is counted, and where the data are.

    Raises:
        UnreadableFileError: a part is damaged.
    """
    tree = parts.tree(name)
    where = attribute(first(tree, "location"), "ref")
    area = area_of(where)
    if tree is None or area is None:
        return
    cache = next((target for _, kind, target in parts.relations(name) if kind == "pivotCacheDefinition"), "")
    source = parts.tree(cache) if cache else None
    fields = [node.get("name", "") for node in first(source, "cacheFields") or ()]
    content = {
        "name": tree.get("name", ""),
        "rows": [_field(fields, node, "x") for node in first(tree, "rowFields") or ()],
        "columns": [_field(fields, node, "x") for node in first(tree, "colFields") or ()],
        "values": [_value(fields, node) for node in found(tree, "dataField")],
        "filters": [_field(fields, node, "fld") for node in first(tree, "pageFields") or ()],
        "source": _source(source),
    }
    values = ", ".join(content["values"])
    by = ", ".join(name for name in [*content["rows"], *content["columns"]] if name != "Values")
    summary = f"{content['name']}: {values} by {by}" if by else f"{content['name']}: {values}"
    yield area.top, area.left, Element("pivot_table", content, summary, {"source_range": where})


def _field(fields: list[str], node: ElementTree.Element, key: str) -> str:
    number = node.get(key, "")
    if number == "-2":
        return "Values"
    return fields[int(number)] if number.isdigit() and int(number) < len(fields) else f"Field {number}"


def _value(fields: list[str], node: ElementTree.Element) -> str:
    how, field = node.get("subtotal", "sum"), _field(fields, node, "fld")
    return f"{node.get('name') or field} ({how} of {field})"


def _source(tree: ElementTree.Element | None) -> str:
    node = first(tree, "worksheetSource")
    if node is not None:
        ref = node.get("ref", "") or node.get("name", "")
        sheet = node.get("sheet", "")
        return f"{sheet}!{ref}" if sheet and ref else ref or sheet
    kind = attribute(first(tree, "cacheSource"), "type")
    return f"{kind} data" if kind else ""


# -------------------------------------------------------------------------------------------------- headers and footers


def edges_of(tail: bytes) -> list[Element]:
    """Header and footer of the printed sheet."""
    result: list[Element] = []
    for which, kind, raw in _EDGE.findall(tail):
        if which != b"odd":
            continue
        words = unescape(raw.decode("utf-8", "replace"))
        parts = [part for part in (_edge_part(part) for part in re.split(r"(?<!&)&[LCR]", words)) if part]
        if parts:
            result.append(note("header" if kind == b"Header" else "footer", " | ".join(parts)))
    return result


def _edge_part(words: str) -> str:
    for code, shown in _EDGE_WORDS.items():
        words = words.replace(code, shown)
    return _EDGE_CODE.sub("", words).replace("&&", "&").strip()
