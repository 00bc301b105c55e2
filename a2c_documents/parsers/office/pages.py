"""Pages of a text document: at its page breaks; without breaks, or where a page is long, at its top headings.

Page breaks are those of the author and, where the file notes them, those of the program that wrote it. A page that is
still too long is divided between paragraphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from a2c_documents.model import Element, Page
from a2c_documents.paging import size_of
from a2c_documents.parsers.common.portions import starts_of, titles_of
from a2c_documents.wording import shortened

LONG = 20_000
"""Bytes from which a page is divided further: about ten printed pages."""
MAX_TITLE = 80


@dataclass(slots=True)
class Step:
    """A step through the document: an element, or an event between two elements."""

    what: str
    """flow, note (shown at the end of its page), break (a page begins), turn (the program that wrote the file began a
    page) or section (a section begins)."""
    element: Element | None = None
    section: int = 0


@dataclass(slots=True)
class Furniture:
    """Headers and footers of a section: on its first page, and on the others."""

    first: list[Element] = field(default_factory=list[Element])
    others: list[Element] = field(default_factory=list[Element])


def with_bars(words: str) -> str:
    """The text of a header or footer; bars separate its left, middle and right part, which the file separates by
    tabs."""
    lines = (" | ".join(filter(None, map(str.strip, line.split("\t")))) for line in words.split("\n"))
    return "\n".join(filter(None, lines))


@dataclass(slots=True)
class _Draft:
    """A page under construction."""

    flow: list[Element] = field(default_factory=list[Element])
    notes: list[Element] = field(default_factory=list[Element])
    sections: list[int] = field(default_factory=list[int])
    title: str = ""
    continues: bool = False
    steps: list[Step] = field(default_factory=list[Step])

    def take(self, step: Step) -> None:
        """Add a step to the page."""
        self.steps.append(step)
        if step.what == "section":
            self.sections.append(step.section)
        elif step.element is not None:
            (self.notes if step.what == "note" else self.flow).append(step.element)


def cut(steps: Sequence[Step], furniture: Callable[[int], Furniture]) -> list[Page]:
    """The pages: each has the headers of its section, its content, its notes, and the footers of its section."""
    broken = _at_breaks(steps, "break")
    has_turns = any(step.what == "turn" for step in steps)
    found: list[_Draft] = []
    for part in broken:
        # Without page breaks, headings are the only way to divide the text. With breaks, they divide only long pages.
        found.extend(_at_turns(part) if has_turns else _at_headings(part, must=len(broken) == 1))
    drafts = [portion for draft in found for portion in _portions(draft)]
    pages = [
        Page(draft.title or title_of(draft.flow) or f"Page {number}", continues=draft.continues)
        for number, draft in enumerate(drafts, 1)
    ]
    for index, (draft, page) in enumerate(zip(drafts, pages, strict=True)):
        around = _around(drafts, index, furniture)
        page.elements = [
            *(element for element in around if element.category != "footer"),
            *draft.flow,
            *draft.notes,
            *(element for element in around if element.category == "footer"),
        ]
    return pages


def title_of(flow: Sequence[Element]) -> str:
    """The first heading of a page, or else its first words."""
    headings = [element for element in flow if element.category == "heading"]
    # A subtitle above the title must not become the title of the page.
    headings.sort(key=lambda element: element.metadata.get("style") == "subtitle")
    words = next((words for element in (*headings, *flow) if (words := _words(element))), "")
    return shortened(" ".join(words.split()), MAX_TITLE)


def _words(element: Element) -> str:
    content = element.content
    if element.category == "list":
        first = content["items"][0] if content["items"] else ""
        return first if isinstance(first, str) else str(first["text"])
    if element.category == "table":
        return " ".join(content["headers"])
    if element.category in ("header", "footer", "separator", "annotation"):
        return ""
    keys = ("text", "title", "alt", "description", "expression", "code")
    return next((str(content[key]) for key in keys if content.get(key)), "")


def _at_breaks(steps: Sequence[Step], what: str) -> list[list[Step]]:
    parts: list[list[Step]] = [[]]
    for step in steps:
        if step.what != what:
            parts[-1].append(step)
        # Two breaks in a row, or a break at the start, would give an empty page.
        elif any(known.what == "flow" for known in parts[-1]):
            parts.append([])
    if len(parts) > 1 and not any(step.what == "flow" for step in parts[-1]):
        # The steps after the last break make no page, but their notes and headers must not be lost.
        parts[-2].extend(parts.pop())
    return parts


def _at_turns(steps: Sequence[Step]) -> list[_Draft]:
    """Divide steps where the program that wrote the file began a page."""
    drafts: list[_Draft] = []
    for part in _at_breaks(steps, "turn"):
        drafts.append(_Draft(continues=bool(drafts)))
        for step in part:
            drafts[-1].take(step)
    return drafts


def _portions(draft: _Draft) -> list[_Draft]:
    """Divide a page that is too long. Notes stay with the text that refers to them."""
    starts = starts_of(draft.flow)
    if len(starts) == 1:
        return [draft]
    drafts = [_Draft(title=draft.title or title_of(draft.flow), continues=draft.continues)]
    waiting: list[Step] = []
    place = 0
    for step in draft.steps:
        if step.what == "section":
            waiting.append(step)
            continue
        if step.what == "flow":
            if len(drafts) < len(starts) and place == starts[len(drafts)]:
                drafts.append(_Draft(continues=True))
            place += 1
        for waited in (*waiting, step):
            drafts[-1].take(waited)
        waiting = []
    for waited in waiting:
        drafts[-1].take(waited)
    titles = titles_of(drafts[0].title, [portion.flow for portion in drafts])
    for portion, title in zip(drafts, titles, strict=True):
        portion.title = title
    return drafts


def _at_headings(steps: list[Step], *, must: bool) -> list[_Draft]:
    """Divide steps at their top headings; if there is only one and the text is long, at the next level."""
    levels = Counter(_level(step) for step in steps if _level(step))
    long = sum(size_of(step.element) for step in steps if step.element is not None) > LONG
    top = min(levels, default=0)
    # A single top heading is the title of the document in all but name.
    if levels[top] == 1:
        top = min((level for level in levels if level > top), default=0) if long else 0
    # Where the author set page breaks, headings divide only a page that is too long to read at once.
    if not (must or long):
        top = 0
    drafts = [_Draft()]
    waiting: list[Step] = []
    for step in steps:
        if step.what == "section":
            # A section starts with the next step, which may be the heading of a new page.
            waiting.append(step)
            continue
        if top and 0 < _level(step) <= top:
            # Headings that follow each other directly share a page: the title of a chapter and the title of its first
            # section are not two pages.
            alone = all(element.category == "heading" for element in drafts[-1].flow)
            if not alone or (drafts[-1].title and _level(step) == top):
                drafts.append(_Draft())
            if step.element is not None and (_level(step) == top or not drafts[-1].title):
                drafts[-1].title = title_of([step.element])
        for waited in (*waiting, step):
            drafts[-1].take(waited)
        waiting = []
    for waited in waiting:
        drafts[-1].take(waited)
    return drafts


def _level(step: Step) -> int:
    """The level of a heading; 0 for anything else. The title of the document counts as 0, because it does not divide
    it."""
    element = step.element
    if element is None or element.category != "heading" or element.metadata.get("style") in ("title", "subtitle"):
        return 0
    return int(element.content["level"])


def _around(drafts: list[_Draft], index: int, furniture: Callable[[int], Furniture]) -> list[Element]:
    # A section may spread over several pages, and a page may hold several sections. Each header is shown once: the one
    # for the first page where the section begins, the others on its second page, or on the same page if there is no
    # second one.
    found: list[Element] = []
    for section in drafts[index].sections:
        own = _unrepeated(section, furniture)
        found.extend(own.first)
        alone = index + 1 == len(drafts) or drafts[index + 1].sections
        if alone or section != drafts[index].sections[-1]:
            found.extend(own.others)
    if index and drafts[index - 1].sections and not drafts[index].sections:
        found.extend(_unrepeated(drafts[index - 1].sections[-1], furniture).others)
    return found


def _unrepeated(section: int, furniture: Callable[[int], Furniture]) -> Furniture:
    """The headers and footers of a section, without those that the section before has too."""
    own, before = furniture(section), furniture(section - 1) if section else Furniture()
    # Some programs repeat the headers in each section instead of letting it inherit them.
    known = [*before.first, *before.others]
    return Furniture(*([element for element in part if element not in known] for part in (own.first, own.others)))
