"""Visio drawings (vsdx): one page for each page, with its shapes and what connects them as a diagram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.loose import as_dict, as_list
from a2c_documents.model import Element, Page, Source, UnreadableFileError, image, link, note
from a2c_documents.parsers.office.facts import core_facts
from a2c_documents.parsers.office.lazy import Later, LazySource
from a2c_documents.parsers.office.package import Package, type_of
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, words_of
from a2c_documents.parsers.visio.shapes import Master, Shape, connections_of, master_of, shapes_of
from a2c_documents.rendering.blocks import item_text
from a2c_documents.wording import counted

MAX_PAGES = 5_000
_PAGES, _MASTERS = "visio/pages/pages.xml", "visio/masters/masters.xml"


def open_visio(path: Path) -> Source:
    """A drawing.

    Raises:
        UnreadableFileError: it is damaged, encrypted, or no drawing.
    """
    package = Package(path, "Visio drawing")
    try:
        drawing = _Drawing(package)
        pages = drawing.pages()
    except DamagedPartError as error:
        package.close()
        raise UnreadableFileError(f"this file is damaged or not a valid Visio drawing: {error}") from None
    facts = core_facts(package)
    facts.details = {"pages": len(pages)}
    return LazySource(facts, pages, package.close)


class _Drawing:
    """What all pages share: their order, the masters, the comments."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self._masters: dict[str, Master] | None = None

    def pages(self) -> list[Page | Later]:
        """The pages; backgrounds, which show behind several of them, come last."""
        relations = self.package.relations(_PAGES)
        listed = [
            (attribute(one, "Background") == "1", attribute(one, "Name") or attribute(one, "NameU"), one)
            for one in self.package.xml(_PAGES).iterfind("{*}Page")
        ]
        pages: list[Page | Later] = []
        for is_background, name, one in sorted(listed[:MAX_PAGES], key=lambda page: page[0]):
            relation = relations.get(attribute(one.find("{*}Rel"), "id"))
            title = f"{name} (background)" if is_background else name
            read = partial(self._page, attribute(one, "ID"), title, relation.target if relation is not None else "")
            pages.append(Later(title, read))
        return pages

    def _page(self, identity: str, title: str, part: str) -> Page:
        try:
            root = self.package.xml(part)
        except DamagedPartError as error:
            return Page(title, [note("annotation", f"This page cannot be read: {error}")])
        shapes = shapes_of(root, self._all_masters())
        elements: list[Element] = []
        if (diagram := diagram_of(shapes, connections_of(root))) is not None:
            elements.append(diagram)
        everything = list(_all(shapes))
        elements += [link(words or shape.name, url) for shape in everything for words, url in shape.links]
        relations = self.package.relations(part)
        for shape in everything:
            relation = relations.get(shape.picture)
            if relation is not None and relation.target in self.package:
                shown = image(shape.words, f"{shape.name}, {type_of(relation.target)}")
                shown.picture = self.package.picture(relation.target)
                elements.append(shown)
        return Page(title, [*elements, *self._comments(identity, {one.identity: one.name for one in everything})])

    def _all_masters(self) -> dict[str, Master]:
        if self._masters is None:
            self._masters = dict(self._read_masters())
        return self._masters

    def _read_masters(self) -> Iterator[tuple[str, Master]]:
        root, relations = self.package.optional(_MASTERS), self.package.relations(_MASTERS)
        for one in root.iterfind("{*}Master") if root is not None else ():
            relation = relations.get(attribute(one.find("{*}Rel"), "id"))
            part = self.package.optional(relation.target) if relation is not None else None
            name = attribute(one, "Name") or attribute(one, "NameU")
            # A master that is damaged still has its name.
            yield attribute(one, "ID"), master_of(name, part) if part is not None else Master(name, {})

    def _comments(self, page: str, names: dict[str, str]) -> Iterator[Element]:
        root = self.package.optional("visio/comments.xml")
        if root is None:
            return
        authors = {attribute(one, "ID"): attribute(one, "Name") for one in root.iter("{*}AuthorEntry")}
        for one in root.iter("{*}CommentEntry"):
            if attribute(one, "PageID") == page and (words := words_of(one)):
                author, about = authors.get(attribute(one, "AuthorID"), ""), names.get(attribute(one, "ShapeID"), "")
                facts: dict[str, Any] = {"kind": "comment", "about": about, "date": attribute(one, "Date")}
                said = f"{author}: {words}" if author else words
                yield note("annotation", said, **{name: fact for name, fact in facts.items() if fact})


def _all(shapes: Sequence[Shape]) -> Iterator[Shape]:
    waiting = list(reversed(shapes))
    while waiting:
        shape = waiting.pop()
        yield shape
        waiting.extend(reversed(shape.inner))


# -------------------------------------------------------------------------------------------------------------- diagram


def diagram_of(shapes: Sequence[Shape], connections: dict[str, dict[str, str]]) -> Element | None:
    """The shapes of a page, each with what it states and where its connectors lead; None if there is nothing to say."""
    names = _names(shapes)
    leads: dict[str, list[dict[str, str]]] = {}
    lines: set[str] = set()
    for shape in _all(shapes):
        ends = connections.get(shape.identity, {})
        begin, end = names.get(ends.get("begin", "")), names.get(ends.get("end", ""))
        if begin is not None and end is not None:
            lines.add(shape.identity)
            start, arrow = ends["begin"], shape.arrows
            if arrow == "←":
                start, begin, end, arrow = ends["end"], end, begin, "→"
            words = " ".join(shape.words.split())
            leads.setdefault(start, []).append({"from": begin, "to": end, "label": words, "arrow": arrow})
        elif shape.is_line and not shape.words:
            lines.add(shape.identity)  # it only draws
    items = _items(shapes, names, leads, lines)
    if not items:
        return None
    found = [lead for several in leads.values() for lead in several]
    shown = note("diagram", "\n".join(_outline(items)), items=items)
    shown.summary = f"{counted(len(names) - len(lines), 'shape')}, {counted(len(found), 'connection')}"
    shown.metadata = {"connections": found} if found else {}
    return shown


def _names(shapes: Sequence[Shape]) -> dict[str, str]:
    """What to call each shape. Those that would have the same name are numbered: connections have to be clear."""
    everything = list(_all(shapes))
    often = Counter(shape.name for shape in everything if not shape.is_line)
    return {one.identity: f"{one.name} #{one.identity}" if often[one.name] > 1 else one.name for one in everything}


def _items(
    shapes: Sequence[Shape], names: dict[str, str], leads: dict[str, list[dict[str, str]]], lines: set[str]
) -> list[Any]:
    items: list[Any] = []
    for shape in shapes:
        if shape.identity in lines:
            continue
        below: list[Any] = [f"{name}: {value}" for name, value in shape.data]
        below += [f"{lead['label']} {lead['arrow']} {lead['to']}".strip() for lead in leads.get(shape.identity, ())]
        below += _items(shape.inner, names, leads, lines)
        # Frames, arrows and pictures without words say nothing, unless something leads to or from them.
        if not (shape.words or shape.master or below):
            continue
        words = names[shape.identity]
        if shape.words and shape.master:
            words = f"{words} ({shape.master})"
        items.append({"text": words, "items": below, "ordered": False} if below else words)
    return items


def _outline(items: Sequence[Any], depth: int = 0) -> Iterator[str]:
    for item in items:
        yield "  " * depth + item_text(item)
        yield from _outline(as_list(as_dict(item).get("items")), depth + 1)
