"""Frames and shapes of OpenDocument: pictures, charts, formulas, text boxes, films."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from a2c_documents.model import Element, formula, image, note
from a2c_documents.parsers.office.embedded import embedded_element
from a2c_documents.parsers.office.package import Package, Relation
from a2c_documents.parsers.office.xml import DamagedPartError, Node, Nodes, attribute, local, pixels, words_of
from a2c_documents.parsers.opendocument.charts import chart_of
from a2c_documents.parsers.opendocument.equations import latex_of

_WITH_WORDS = ("custom-shape", "rect", "ellipse", "path", "polygon", "polyline", "line", "connector")
SHAPES = frozenset(("frame", "g", "a", *_WITH_WORDS))
"""Elements that are shapes or contain shapes."""
_PROGRAMS = {
    "text": "opendocument.WriterDocument",
    "spreadsheet": "opendocument.CalcDocument",
    "presentation": "opendocument.ImpressDocument",
    "drawing": "opendocument.DrawDocument",
}


class Objects:
    """Reads the content of frames and shapes. Pictures and embedded documents are parts of the package."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def read(self, shape: Node) -> Iterator[Element | Nodes]:
        """The elements and the containers of paragraphs in a shape, in order; groups are flattened."""
        stack = [shape]
        while stack:
            node = stack.pop()
            name = local(node)
            if name in ("g", "a"):
                stack.extend(reversed(node))
            elif name == "frame":
                yield from self._frame(node)
            # Lines and arrows are drawings without words in most files, and would be empty boxes.
            elif name in _WITH_WORDS and any(local(part) in ("p", "list") for part in node):
                yield node

    def _frame(self, frame: Node) -> Iterator[Element | Nodes]:
        """The first child of a frame that is supported; the others are replacements for it."""
        # A frame lists the same content in several forms, the best first: an object, and then the picture that replaces
        # it.
        for node in frame:
            name = local(node)
            if name == "text-box":
                yield node
                return
            if name in ("object", "object-ole"):
                yield from self._object(frame, node)
                return
            if name == "image":
                yield self._picture(frame, node)
                return
            if name == "plugin":
                yield _media(frame, node)
                return
            if name == "table":
                yield [node]
                return

    def _picture(self, frame: Node, node: Node) -> Element:
        target = attribute(node, "href")
        alt = words_of(frame.find("{*}desc")) or words_of(frame.find("{*}title"))
        # Programs write paths inside the archive with and without `./` in front.
        part = posixpath.normpath(target) if target else ""
        inside = part in self._package
        shown = image(alt, url="" if inside else target, **_where(frame))
        if inside:
            shown.metadata["source"] = part
            shown.picture = self._package.picture(part)
        return shown

    def _object(self, frame: Node, node: Node) -> Iterator[Element]:
        """A formula or chart; for other objects, the embedded file and its preview picture."""
        target = posixpath.normpath(attribute(node, "href") or ".").lstrip("/")
        content = f"{target}/content.xml"
        # An object is a folder of the archive with a content of its own, or its XML is inside the frame.
        own = next((part for part in node if local(part) in ("math", "document")), None)
        root = own
        if own is None and content in self._package:
            try:
                root = self._package.xml(content)
            except DamagedPartError as error:
                yield note("annotation", f"An embedded object cannot be read: {error}")
                return
        if root is not None and local(root) == "math":
            yield formula(latex_of(root), **_where(frame))
        elif root is not None and (chart := chart_of(root, **_where(frame))) is not None:
            yield chart.element()
        else:
            # The preview picture is the only visible content of an object that cannot be converted.
            picture = next((part for part in frame if local(part) == "image" and attribute(part, "href")), None)
            if picture is not None:
                yield self._picture(frame, picture)
            relation = Relation("oleObject", target, external=False)
            program = _PROGRAMS.get(_kind(root), "")
            yield embedded_element(self._package, relation, program, **_where(frame))


def _kind(root: Node | None) -> str:
    """The type of an embedded document, such as text or spreadsheet."""
    body = root.find(".//{*}body") if root is not None else None
    return local(body[0]) if body is not None and len(body) else ""


def _media(frame: Node, node: Node) -> Element:
    kind = "audio" if attribute(node, "mime-type").startswith("audio") else "video"
    shown = note(kind, attribute(frame, "name"), url=attribute(node, "href"))
    shown.metadata.update(_where(frame))
    return shown


def _where(frame: Node) -> dict[str, Any]:
    """Name and position of a frame. The size is in pixels of 1/96 inch."""
    size = [pixels(attribute(frame, name)) for name in ("width", "height")]
    known: dict[str, Any] = {"shape": attribute(frame, "name"), "size": size if all(size) else None}
    return {key: value for key, value in known.items() if value}
