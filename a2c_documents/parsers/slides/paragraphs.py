"""The text of shapes: paragraphs, bullets, links, formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from a2c_documents.inline import BOLD, ITALIC, Run, joined, styled
from a2c_documents.model import Element, formula, link, list_of, text
from a2c_documents.parsers.office.equations import latex_of
from a2c_documents.parsers.office.lists import nested
from a2c_documents.parsers.office.package import Relation
from a2c_documents.parsers.office.xml import Node, attribute, local, whole


@dataclass(slots=True)
class Paragraph:
    """A paragraph as shown. `bullet` is empty, `char` or `number`."""

    words: str
    level: int = 0
    bullet: str = ""
    links: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    formulas: list[str] = field(default_factory=list[str])
    only_formula: bool = False


def paragraphs_of(body: Node | None, styles: list[Node], relations: dict[str, Relation]) -> Iterator[Paragraph]:
    """The paragraphs of a text body that are not empty. `styles` define the bullets, nearest first."""
    if body is None:
        return
    own = body.find("{*}lstStyle")
    chain = ([own] if own is not None else []) + styles
    for element in body.iterfind("{*}p"):
        paragraph = _paragraph(element, relations)
        if paragraph.words or paragraph.formulas:
            properties = element.find("{*}pPr")
            paragraph.level = min(8, max(0, whole(properties.get("lvl")))) if properties is not None else 0
            paragraph.bullet = _bullet(properties, paragraph.level, chain)
            yield paragraph


def plain(body: Node | None) -> str:
    """The text of a body, one line for each paragraph."""
    return joined((paragraph.words for paragraph in paragraphs_of(body, [], {})), "\n")


def _paragraph(element: Node, relations: dict[str, Relation]) -> Paragraph:
    result = Paragraph("")
    words: list[str] = []
    runs: list[Run] = []
    other = False
    for part in _parts(element):
        name = local(part)
        if name in ("r", "fld"):
            run = "".join(piece.text or "" for piece in part.iterfind("{*}t"))
            # A paragraph that is only a formula becomes a formula element. Blank runs around it do not make it a text.
            other = other or bool(run.strip())
            words.append(run)
            properties = part.find("{*}rPr")
            runs.append(Run(run, _marks(properties)))
            mark = properties.find("{*}hlinkClick") if properties is not None and len(properties) else None
            target = relations.get(attribute(mark, "id")) if mark is not None else None
            # A change of font or colour divides a link into runs, each with the same target.
            if target is not None and target.external and run.strip():
                _add_link(result.links, run, target.target)
        elif name == "br":
            words.append("\n")
        elif name == "m":
            for expression in filter(None, (latex_of(one) for one in part.iter() if local(one) == "oMath")):
                result.formulas.append(expression)
                words.append(f" {expression} ")
                runs.append(Run(expression))
    lines = "".join(words).replace("\v", "\n").split("\n")
    result.words = styled("\n".join(filter(None, (" ".join(line.split()) for line in lines))), runs)
    result.only_formula = bool(result.formulas) and not other
    return result


def _marks(properties: Node | None) -> str:
    """The formatting of a run."""
    if properties is None:
        return ""
    return BOLD * (properties.get("b") in ("1", "true")) + ITALIC * (properties.get("i") in ("1", "true"))


def _add_link(links: list[tuple[str, str]], run: str, url: str) -> None:
    """Add a link; consecutive runs with the same target are one link."""
    if links and links[-1][1] == url:
        links[-1] = (links[-1][0] + run, url)
    else:
        links.append((run, url))


def _parts(element: Node) -> Iterator[Node]:
    for part in element:
        if local(part) != "AlternateContent":
            yield part
        elif len(part):
            # The first alternative is the one for current programs; formulas occur only there.
            yield from part[0]


def _bullet(properties: Node | None, level: int, chain: list[Node]) -> str:
    # Bullets are inherited: from the paragraph, the shape, the placeholder of the layout, the one of the master, and
    # the styles of the master. The nearest one with a mark decides, even if the mark is `buNone`.
    steps = [properties] + [style.find(f"{{*}}lvl{level + 1}pPr") for style in chain]
    for step in steps:
        for mark in step if step is not None else ():
            kind = {"buNone": "none", "buChar": "char", "buBlip": "char", "buAutoNum": "number"}.get(local(mark))
            if kind:
                return "" if kind == "none" else kind
    return ""


# ------------------------------------------------------------------------------------------------------------- elements


def text_elements(paragraphs: list[Paragraph], metadata: dict[str, Any]) -> list[Element]:
    """Paragraphs as texts, consecutive bullets as one list; links and formulas follow the text that contains them."""
    elements: list[Element] = []
    waiting: list[Paragraph] = []

    def flush() -> None:
        if waiting:
            rows = ((one.level, one.words, one.bullet == "number") for one in waiting)
            elements.append(list_of(nested(rows), ordered=waiting[0].bullet == "number", **metadata))
            for one in waiting:
                elements.extend(_extras(one, metadata))
            waiting.clear()

    for paragraph in paragraphs:
        if paragraph.bullet and not paragraph.only_formula:
            first = waiting[0] if waiting else paragraph
            # Bullets below a numbered item belong to it. On the level where the list began, another kind of mark is
            # another list.
            if paragraph.level <= first.level and paragraph.bullet != first.bullet:
                flush()
            waiting.append(paragraph)
            continue
        flush()
        # The link that follows has the same words; a text in front of it would repeat them.
        is_link = [" ".join(words.split()) for words, _ in paragraph.links] == [paragraph.words]
        if not paragraph.only_formula and not is_link:
            elements.append(text(paragraph.words, **metadata))
        elements.extend(_extras(paragraph, metadata))
    flush()
    return elements


def _extras(paragraph: Paragraph, metadata: dict[str, Any]) -> Iterator[Element]:
    yield from (link(" ".join(words.split()), url, **metadata) for words, url in paragraph.links)
    yield from (formula(expression, **metadata) for expression in paragraph.formulas)
