"""The shapes of a slide in reading order, with the properties that they inherit from the design of the slide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.reading_order import Extent, around, in_reading_order
from a2c_documents.parsers.office.xml import Node, attribute, local, number

_KINDS = frozenset({"sp", "pic", "graphicFrame", "cxnSp"})
_POINT = 12_700
"""English Metric Units in a point; files measure in these units."""
_BASIC = {"obj": "body", "subTitle": "body", "ctrTitle": "title", "": "body"}
"""Names of placeholders in a master, by their names in layouts and slides."""
TITLES = frozenset({"title", "ctrTitle"})

Transform = tuple[float, float, float, float]
"""Scale and shift, horizontal and vertical, from the units of a group to those of the slide."""


@dataclass(slots=True)
class Shape:
    """A shape that is not a group: its tree, its position, and the placeholder that it fills."""

    element: Node
    kind: str
    name: str
    alt: str
    box: list[float] | None
    placeholder: str | None
    index: str


class Design:
    """A layout and its master: the positions of placeholders, and the styles of their text."""

    def __init__(self, package: Package, layout: str) -> None:
        # The design is not content: a slide can be read without it.
        self._layout = package.optional(layout)
        self._master = package.optional(package.related(layout, "slideMaster"))
        self._own = list(_placeholders(self._layout))
        self._inherited = list(_placeholders(self._master))

    def placeholders(self, kind: str, index: str) -> list[Node]:
        """The shapes that a placeholder inherits from, nearest first."""
        found: list[Node] = []
        for _, mark, shape in self._own:
            # A slide has one title. It matches the title of its layout also if their types differ: a title on a layout
            # with a centred title.
            if attribute(mark, "idx", "0") == index or (kind in TITLES and attribute(mark, "type") in TITLES):
                found.append(shape)
                kind = attribute(mark, "type") or kind
                break
        # A slide and its layout match placeholders by index; a layout and its master match them by type.
        wanted = _BASIC.get(kind, kind)
        found.extend(shape for name, _, shape in self._inherited if name == wanted)
        return found

    def styles(self, kind: str | None) -> Node | None:
        """The styles of the master for a kind of text."""
        name = "otherStyle" if kind is None else "titleStyle" if kind in TITLES else "bodyStyle"
        return self._master.find(f"{{*}}txStyles/{{*}}{name}") if self._master is not None else None


def _placeholders(root: Node | None) -> Iterator[tuple[str, Node, Node]]:
    for shape in root.iterfind(".//{*}spTree/{*}sp") if root is not None else ():
        mark = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
        if mark is not None:
            yield attribute(mark, "type"), mark, shape


# -------------------------------------------------------------------------------------------------------- reading order


def shapes_of(slide: Node, design: Design) -> list[Shape]:
    """The shapes of a slide: the title, then placeholders in the order of the design, other shapes by their
    position."""
    tree = slide.find(".//{*}spTree")
    titles: list[Shape] = []
    filled: list[tuple[Extent, list[Shape]]] = []
    free: list[tuple[Extent, list[Shape]]] = []
    for child in _children(tree) if tree is not None else ():
        group = list(_flat(child, design))
        if not group:
            continue
        # A group is placed as a whole: its parts belong together, wherever they are on the slide.
        placeholder = group[0].placeholder if local(child) != "grpSp" else None
        if placeholder in TITLES:
            titles.extend(group)
        else:
            extent = around([_extent(shape.box) for shape in group if shape.box is not None])
            (free if placeholder is None else filled).append((extent, group))
    return [*titles, *(shape for _, group in in_reading_order(filled, free) for shape in group)]


def _extent(box: list[float]) -> Extent:
    left, top, width, height = box
    return left, top, left + width, top + height


# ----------------------------------------------------------------------------------------------------------------- walk


def _children(parent: Node) -> Iterator[Node]:
    """The shapes in a tree or group; the first alternative that contains known shapes."""
    for child in parent:
        if local(child) != "AlternateContent":
            yield child
            continue
        for choice in child:
            # The first choice can hold only a new kind of shape that is not supported; a later one has a picture or a
            # frame for it.
            known = [shape for shape in choice if local(shape) in _KINDS or local(shape) == "grpSp"]
            if known:
                yield from known
                break


def _flat(top: Node, design: Design) -> Iterator[Shape]:
    """A shape, or the shapes in a group, in document order."""
    waiting: list[tuple[Node, Transform]] = [(top, (1, 0, 1, 0))]
    while waiting:
        element, transform = waiting.pop()
        kind = local(element)
        if kind == "grpSp":
            inner = _inside(element, transform)
            waiting.extend((child, inner) for child in reversed(list(_children(element))))
        elif kind in _KINDS:
            yield _shape(element, kind, transform, design)


def _shape(element: Node, kind: str, transform: Transform, design: Design) -> Shape:
    properties, mark = element.find("{*}*/{*}cNvPr"), element.find("{*}*/{*}nvPr/{*}ph")
    placeholder = attribute(mark, "type") if mark is not None else None
    index = attribute(mark, "idx", "0") if mark is not None else ""
    name = attribute(properties, "name") if properties is not None else ""
    alt = (attribute(properties, "descr") or attribute(properties, "title")) if properties is not None else ""
    frame = _frame(element)
    if frame is None and placeholder is not None:
        # A placeholder that was not moved has no position of its own.
        frame = next(filter(None, map(_frame, design.placeholders(placeholder, index))), None)
    return Shape(element, kind, name, alt.strip(), _box(frame, transform) if frame else None, placeholder, index)


def _frame(element: Node) -> tuple[float, float, float, float] | None:
    """Left edge, upper edge, width and height in the units of the file."""
    for where in ("{*}spPr/{*}xfrm", "{*}xfrm", "{*}grpSpPr/{*}xfrm"):
        place = element.find(where)
        off, size = (place.find("{*}off"), place.find("{*}ext")) if place is not None else (None, None)
        if off is not None and size is not None:
            return number(off.get("x")), number(off.get("y")), number(size.get("cx")), number(size.get("cy"))
    return None


def _box(frame: tuple[float, float, float, float], transform: Transform) -> list[float]:
    scale_x, shift_x, scale_y, shift_y = transform
    left, top, width, height = frame
    measures = (left * scale_x + shift_x, top * scale_y + shift_y, width * scale_x, height * scale_y)
    return [round(measure / _POINT, 1) for measure in measures]


def _inside(group: Node, outer: Transform) -> Transform:
    """The transformation from the units inside a group to those of the slide."""
    # A group has a coordinate system of its own: the rectangle `chOff`/`chExt` inside it is drawn into the rectangle
    # `off`/`ext` outside, and groups can be nested.
    frame, place = _frame(group), group.find("{*}grpSpPr/{*}xfrm")
    start, size = (place.find("{*}chOff"), place.find("{*}chExt")) if place is not None else (None, None)
    if frame is None or start is None or size is None:
        return outer
    wide, high = number(size.get("cx")), number(size.get("cy"))
    # A line has no height, and a group of lines can have none either.
    scale_x, scale_y = (frame[2] / wide if wide else 1.0), (frame[3] / high if high else 1.0)
    shift_x, shift_y = frame[0] - number(start.get("x")) * scale_x, frame[1] - number(start.get("y")) * scale_y
    return (
        outer[0] * scale_x, outer[0] * shift_x + outer[1], outer[2] * scale_y, outer[2] * shift_y + outer[3]
    )  # fmt: skip
