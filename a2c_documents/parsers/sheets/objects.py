"""Files that are embedded in an Excel sheet."""

from __future__ import annotations

import re
from collections.abc import Iterator

from a2c_documents.model import Element
from a2c_documents.parsers.office.embedded import embedded_element
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import attribute, first, found, parse_xml
from a2c_documents.parsers.sheets.drawing import area_of_anchor

MAX_OBJECTS = 500
_OBJECTS = re.compile(rb"<((?:[\w.-]+:)?oleObjects)\b.*?</\1>", re.DOTALL)


def embedded_objects(package: Package, part: str, root: bytes, tail: bytes) -> Iterator[tuple[int, int, Element]]:
    """What a sheet embeds, each with the row and column of its upper left corner.

    `root` is the start tag of the sheet, `tail` what stands behind its rows.

    Raises:
        DamagedPartError: it is no XML.
    """
    match = _OBJECTS.search(tail)
    if match is None:
        return
    name = root[1:].split(None, 1)[0].rstrip(b"/>")
    # What is not there for old readers names its prefixes where they are used, or at the start of the sheet.
    tree = parse_xml(root + match[0] + b"</" + name + b">", recover=True)
    relations = package.relations(part)
    for node in list(found(tree, "oleObject"))[:MAX_OBJECTS]:
        area = area_of_anchor(first(node, "anchor"))
        relation = relations.get(next((value for key, value in node.items() if key.endswith("}id")), ""))
        yield area.top, area.left, embedded_element(package, relation, attribute(node, "progId"), source_range=area.ref)
