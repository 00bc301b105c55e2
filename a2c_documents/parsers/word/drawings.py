"""Drawings in a Word document: pictures, charts, SmartArt, text boxes, embedded files, horizontal lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from a2c_documents.model import Element, image, note, text
from a2c_documents.parsers.office.charts import chart_of
from a2c_documents.parsers.office.embedded import embedded_element
from a2c_documents.parsers.office.ooxml import child, chosen, inside, tag
from a2c_documents.parsers.office.package import Package, Relation
from a2c_documents.parsers.office.smartart import diagram_of
from a2c_documents.parsers.office.story import Box
from a2c_documents.parsers.office.xml import DamagedPartError, Node, Nodes, attribute, drawn_pixels, pixels

_LENGTH = re.compile(r"(?:^|;)\s*(width|height):\s*([\d.]{1,12}[a-z]{2})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Name, alternative text, size and link of a drawing."""

    name: str = ""
    alt: str = ""
    size: tuple[int, int] = (0, 0)
    url: str = ""

    @property
    def metadata(self) -> dict[str, Any]:
        """The known facts as metadata. The size is in pixels of 1/96 inch."""
        known: dict[str, Any] = {
            "shape": self.name,
            "size": list(self.size) if any(self.size) else None,
            "link": self.url,
        }
        return {key: what for key, what in known.items() if what}


class Drawings:
    """The drawings of one part; `plain` returns the text of a box."""

    def __init__(self, package: Package, relations: Mapping[str, Relation], plain: Callable[[Nodes], str]) -> None:
        self._package = package
        self._relations = relations
        self._plain = plain

    def read(self, drawing: Node) -> list[Element | Box]:
        """The content of a drawing, in order. Several boxes in one group are a diagram."""
        found = list(self._walk(drawing))
        boxes = [part for part in found if isinstance(part, Box)]
        # The boxes of a flow chart have no reading order. As separate paragraphs, they would look like continuous text.
        if len(boxes) < 2 or next(inside(drawing, "wpg:wgp", "wpc:wpc", "v:group"), None) is None:
            return found
        words = "\n".join(filter(None, (self._plain(box.content) for box in boxes)))
        return [note("diagram", words), *(part for part in found if isinstance(part, Element))]

    def _walk(self, drawing: Node) -> Iterator[Element | Box]:
        stack: list[tuple[Node, _Frame]] = [(drawing, _Frame())]
        while stack:
            node, frame = stack.pop()
            name = tag(node)
            if name == "mc:AlternateContent":
                stack.extend((part, frame) for part in reversed(chosen(node)))
                continue
            if name in ("wp:inline", "wp:anchor", "pic:pic", "wps:wsp"):
                frame = self._frame(node, frame)
            elif name.startswith("v:") and attribute(node, "style"):
                frame = _old_frame(node, frame)
            if name == "w:txbxContent":
                yield Box(node)
                continue
            yield from self._thing(name, node, frame)
            if name not in ("c:chart", "cx:chart", "dgm:relIds"):
                # The walk continues below every node, because a picture or box can be nested in groups and canvases.
                # Charts and diagrams are complete: their content is in another part.
                stack.extend((part, frame) for part in reversed(node))

    def _thing(self, name: str, node: Node, frame: _Frame) -> Iterator[Element]:
        """The element that a node of a drawing stands for."""
        if name == "pic:pic":
            yield self._picture(child(node, "pic:blipFill", "a:blip"), frame)
        elif name == "v:imagedata":
            yield self._picture(node, replace(frame, alt=frame.alt or attribute(node, "title")))
        elif name in ("c:chart", "cx:chart"):
            yield self._chart(node, frame)
        elif name == "dgm:relIds":
            yield self._diagram(node, frame)
        elif name == "o:OLEObject":
            relation = self._relations.get(attribute(node, "id"))
            yield embedded_element(self._package, relation, attribute(node, "ProgID"))
        elif name == "w:control":
            yield note("form", attribute(node, "name"), fields=[{"name": attribute(node, "name"), "type": "control"}])
        elif name == "v:textpath" and (words := attribute(node, "string")):
            # WordArt of the older kind: its text is only in this attribute.
            yield text(words, shape=frame.name) if frame.name else text(words)
        elif name in ("v:rect", "v:shape") and attribute(node, "hr") in ("t", "true"):
            yield note("separator", "---")

    def _frame(self, node: Node, outer: _Frame) -> _Frame:
        """The frame of a drawing; facts that it lacks come from the drawing around it."""
        shape = next(inside(node, "wp:docPr", "pic:cNvPr", "wps:cNvPr"), None)
        extent = child(node, "wp:extent")
        if extent is None:
            # `wp:extent` is the size on the page. The size of a picture in a group is in units of the group, and is
            # only used where nothing else is known.
            extent = next(inside(node, "a:ext"), None) if tag(node) == "pic:pic" and not any(outer.size) else None
        size = (
            outer.size
            if extent is None
            else (drawn_pixels(attribute(extent, "cx")), drawn_pixels(attribute(extent, "cy")))
        )
        if shape is None:
            return replace(outer, size=size)
        click = next((self._relations.get(attribute(mark, "id")) for mark in inside(shape, "a:hlinkClick")), None)
        alt = outer.alt or attribute(shape, "descr") or attribute(shape, "title")
        return _Frame(outer.name or attribute(shape, "name"), alt, size, click.target if click else outer.url)

    def _picture(self, blip: Node | None, frame: _Frame) -> Element:
        # The older and the newer format name the relation of a picture differently.
        names = ("embed", "id", "link", "href") if blip is not None else ()
        relation = next((found for name in names if (found := self._relations.get(attribute(blip, name)))), None)
        shown = image(frame.alt, url=relation.target if relation and relation.external else "", **frame.metadata)
        # The element stays even without its picture: it has an alternative text, and the reader sees the gap.
        if relation is None or (not relation.external and relation.target not in self._package):
            shown.metadata["missing"] = True
        elif not relation.external:
            shown.metadata["source"] = relation.target
            shown.picture = self._package.picture(relation.target)
        return shown

    def _chart(self, node: Node, frame: _Frame) -> Element:
        try:
            return chart_of(self._package.xml(self._target(node, "id")), **frame.metadata).element()
        except DamagedPartError as error:
            return note("annotation", f"A chart cannot be read: {error}")

    def _diagram(self, node: Node, frame: _Frame) -> Element:
        try:
            shown = diagram_of(self._package.xml(self._target(node, "dm")))
        except DamagedPartError as error:
            return note("annotation", f"A diagram cannot be read: {error}")
        shown.metadata.update(frame.metadata | ({"alt": frame.alt} if frame.alt else {}))
        return shown

    def _target(self, node: Node, name: str) -> str:
        relation = self._relations.get(attribute(node, name))
        if relation is None or relation.external:
            raise DamagedPartError("it is not in the file")
        return relation.target


def _old_frame(node: Node, outer: _Frame) -> _Frame:
    # VML, the format of drawings before 2007, states the size in a CSS style.
    lengths = {found[1].lower(): pixels(found[2]) for found in _LENGTH.finditer(attribute(node, "style")[:2_000])}
    size = (lengths.get("width", 0), lengths.get("height", 0))
    alt = outer.alt or attribute(node, "alt")
    return replace(outer, alt=alt, size=size if any(size) else outer.size)
