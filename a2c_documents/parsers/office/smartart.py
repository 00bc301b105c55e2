"""SmartArt diagrams as outlines: each text below the text it belongs to."""

from __future__ import annotations

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.lists import nested
from a2c_documents.parsers.office.xml import Node, attribute, whole, words_of

_DEEPEST = 20


def diagram_of(root: Node) -> Element:
    """Read the diagram in the root of its data part."""
    rows = _outline(root)
    lines = "\n".join("  " * depth + words for depth, words in rows)
    items = nested((depth, words, False) for depth, words in rows)
    return note("diagram", lines or "A diagram without text.", items=items)


def _outline(root: Node) -> list[tuple[int, str]]:
    points = {
        attribute(point, "modelId"): " ".join(filter(None, map(words_of, point.iterfind("{*}t/{*}p"))))
        for point in root.iterfind(".//{*}ptLst/{*}pt")
        # Other types describe the layout and the transitions between nodes.
        if attribute(point, "type", "node") in ("node", "asst", "doc")
    }
    below: dict[str, list[tuple[int, str]]] = {}
    for line in root.iterfind(".//{*}cxnLst/{*}cxn"):
        if attribute(line, "type", "parOf") == "parOf" and attribute(line, "destId") in points:
            order = whole(attribute(line, "srcOrd"))
            below.setdefault(attribute(line, "srcId"), []).append((order, attribute(line, "destId")))
    owned = {point for lines in below.values() for _, point in lines}
    waiting = [(0, point) for point in reversed(points) if point not in owned]
    seen: set[str] = set()
    # The file is untrusted: a point can be its own ancestor. Each point is visited once, without recursion.
    rows: list[tuple[int, str]] = []
    while waiting:
        depth, point = waiting.pop()
        if point in seen:
            continue
        seen.add(point)
        # The document point at the root and unfilled points have no text. Their children move up a level instead of
        # hanging below an empty line.
        if points[point]:
            rows.append((depth, points[point]))
            depth = min(depth + 1, _DEEPEST)
        waiting.extend((depth, lower) for _, lower in sorted(below.get(point, ()), reverse=True))
    return rows
