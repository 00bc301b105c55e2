"""Header and footer of a printed OpenDocument sheet."""

from __future__ import annotations

from typing import Any

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.xml import attribute, found, local
from a2c_documents.parsers.sheets.opendocument_cells import words_of_line

_FIELDS = {
    "page-number": "[page]", "page-count": "[pages]", "date": "[date]", "time": "[time]", "file-name": "[file]",
    "sheet-name": "[sheet]", "title": "[title]",
}  # fmt: skip


def edges_of(styles: Any | None, master: str) -> list[Element]:
    """What a page style prints above and below a sheet; left, middle and right are divided by bars."""
    page = next((node for node in found(styles, "master-page") if attribute(node, "name") == master), None)
    edges: list[Element] = []
    for node in page if page is not None else ():
        if local(node) in ("header", "footer") and attribute(node, "display") != "false":
            regions = [part for part in node if local(part).startswith("region-")] or [node]
            said = ("\n".join(words_of_line(line, _FIELDS) for line in found(part, "p")).strip() for part in regions)
            if words := " | ".join(filter(None, said)):
                edges.append(note(local(node), words))
    return edges
