"""The shapes of a Visio page: words, master, data, place; what a shape leaves out is in its master."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from a2c_documents.parsers.office.reading_order import NOWHERE, Extent, in_reading_order
from a2c_documents.parsers.office.xml import Node, attribute, local, number

MAX_SHAPES = 20_000
_DEEPEST = 30
_INCH = 72
_Masters = dict[str, "Master"]


@dataclass(frozen=True, slots=True)
class Master:
    """A master: its name, and its shapes by id."""

    name: str
    shapes: dict[str, Node]


@dataclass(slots=True)
class Shape:
    """A shape, and the shapes in it if it is a group."""

    identity: str
    words: str
    master: str
    data: list[tuple[str, str]]
    """Names and values."""
    links: list[tuple[str, str]]
    """Words and addresses."""
    picture: str
    """The relation of its picture."""
    extent: Extent
    is_line: bool
    arrows: str
    """`→`, `←`, `↔`, or `—` without any."""
    inner: list[Shape] = field(default_factory=list["Shape"])

    @property
    def name(self) -> str:
        """What to call it: its words, else what it is."""
        return " ".join(self.words.split()) or self.master or f"Shape {self.identity}"


def master_of(name: str, root: Node) -> Master:
    """A master from its part."""
    return Master(name, {attribute(one, "ID"): one for one in root.iter("{*}Shape")})


def shapes_of(root: Node, masters: _Masters) -> list[Shape]:
    """The shapes of a page, in reading order."""
    return _Reading(masters).shapes(root, None, 0)


class _Reading:
    def __init__(self, masters: _Masters) -> None:
        self._masters = masters
        self._left = MAX_SHAPES

    def shapes(self, holder: Node, master: Master | None, depth: int) -> list[Shape]:
        """The shapes in a page or group. `master` is that of a group around them."""
        found: list[tuple[Extent, Shape]] = []
        for one in holder.iterfind("{*}Shapes/{*}Shape"):
            if self._left <= 0 or depth > _DEEPEST:
                break
            self._left -= 1
            # What was deleted from a group is still listed, because the master has it.
            if attribute(one, "Del") == "1":
                continue
            shape = self._shape(one, master, depth)
            found.append((shape.extent, shape))
        return [shape for _, shape in in_reading_order([], found)]

    def _shape(self, node: Node, around: Master | None, depth: int) -> Shape:
        own = self._masters.get(attribute(node, "Master"))
        master = own or around
        # A shape with a master of its own is the master's first shape. One in a group names the shape that it repeats.
        wanted = attribute(node, "MasterShape")
        pattern = None
        if master is not None:
            pattern = master.shapes.get(wanted) if wanted else next(iter(master.shapes.values()), None) if own else None
        cells = {**_cells(pattern), **_cells(node)}
        return Shape(
            identity=attribute(node, "ID"),
            words=_words(node) if node.find("{*}Text") is not None else _words(pattern),
            master=own.name if own is not None else "",
            data=_data(node, pattern),
            links=list(_links(node)),
            picture=attribute(node.find("{*}ForeignData/{*}Rel"), "id"),
            extent=_extent(cells),
            is_line="BeginX" in cells,
            arrows=_arrows(cells),
            inner=self.shapes(node, master, depth + 1),
        )


def _cells(node: Node | None) -> dict[str, str]:
    return {attribute(one, "N"): attribute(one, "V") for one in node.iterfind("{*}Cell")} if node is not None else {}


def _words(node: Node | None) -> str:
    """The words of a shape. Marks of formatting have none, and fields have what they show."""
    text = node.find("{*}Text") if node is not None else None
    lines = "".join(text.itertext()).splitlines() if text is not None else []
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _extent(cells: dict[str, str]) -> Extent:
    """Where it is, in points from the top: Visio counts inches from the bottom."""
    if "PinX" not in cells or "PinY" not in cells:
        return NOWHERE
    wide, high = number(cells.get("Width")), number(cells.get("Height"))
    left = number(cells["PinX"]) - number(cells.get("LocPinX"), wide / 2)
    lower = number(cells["PinY"]) - number(cells.get("LocPinY"), high / 2)
    return left * _INCH, -(lower + high) * _INCH, (left + wide) * _INCH, -lower * _INCH


def _arrows(cells: dict[str, str]) -> str:
    """The tips of a line. Without any statement it leads from its begin to its end: styles may give it a tip."""
    begin, end = cells.get("BeginArrow"), cells.get("EndArrow")
    has_begin, has_end = number(begin) > 0, number(end) > 0
    if has_begin:
        return "↔" if has_end else "←"
    return "—" if begin is not None and end is not None and not has_end else "→"


def _rows(node: Node | None, section: str) -> Iterator[tuple[str, dict[str, str]]]:
    for one in node.iterfind("{*}Section") if node is not None else ():
        if attribute(one, "N") == section:
            for row in one.iterfind("{*}Row"):
                yield attribute(row, "N") or attribute(row, "IX"), _cells(row)


def _data(node: Node, pattern: Node | None) -> list[tuple[str, str]]:
    """What the shape states about itself: cost, owner, serial number …"""
    rows = {name: cells for name, cells in _rows(pattern, "Property")}
    for name, cells in _rows(node, "Property"):
        rows[name] = {**rows.get(name, {}), **cells}
    return [
        (cells.get("Label") or name, " ".join(cells.get("Value", "").split()))
        for name, cells in rows.items()
        if cells.get("Value", "").strip() and cells.get("Invisible", "0") in ("0", "")
    ]


def _links(node: Node) -> Iterator[tuple[str, str]]:
    for _, cells in _rows(node, "Hyperlink"):
        place, inside = cells.get("Address", ""), cells.get("SubAddress", "")
        if url := f"{place}#{inside}" if inside else place:
            yield cells.get("Description", ""), url


def connections_of(root: Node) -> dict[str, dict[str, str]]:
    """For each connector, the shapes at its `begin` and its `end`."""
    found: dict[str, dict[str, str]] = {}
    for one in root.iterfind("{*}Connects/{*}Connect"):
        if local(one) == "Connect":
            part, cell = attribute(one, "FromPart"), attribute(one, "FromCell")
            place = {"BeginX": "begin", "EndX": "end"}.get(cell) or {"9": "begin", "12": "end"}.get(part)
            if place:
                found.setdefault(attribute(one, "FromSheet"), {})[place] = attribute(one, "ToSheet")
    return found
