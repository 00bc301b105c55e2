"""A text on its way to pages: the content of one paragraph (`Said`), and the elements of the whole text (`Story`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeGuard

from a2c_documents.inline import Run, styled
from a2c_documents.model import MAX_SUMMARY, Element, code, link, note, text
from a2c_documents.parsers.office.lists import CONTENTS, Items, Mark
from a2c_documents.parsers.office.pages import Step
from a2c_documents.parsers.office.xml import Nodes
from a2c_documents.wording import counted

MAX_ABOUT = 300
"""Limit for the characters of the text that a comment refers to."""
MAX_DEPTH = 20
"""Depth of notes in notes and boxes in boxes; more occurs only in files made to do harm."""


@dataclass(frozen=True, slots=True)
class Box:
    """A text box, or a table in a frame. Its content follows the paragraph that holds it."""

    content: Nodes


@dataclass(frozen=True, slots=True)
class Aside:
    """A reference to a note or comment that the file keeps in another part."""

    kind: str
    id: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class PageBreak:
    """A page break."""


Part = str | Element | Box | Aside | PageBreak
_PLAIN = Run("")


@dataclass(slots=True)
class Said:
    """The content of a paragraph: words and other parts in order, links, form fields, and notes."""

    parts: list[Part] = field(default_factory=list[Part])
    links: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    fields: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    notes: list[Element] = field(default_factory=list[Element])
    turned_before: bool = False
    """Whether the program began a page at the first word."""
    turned_inside: bool = False
    """Whether it began one after that."""
    looks: dict[int, Run] = field(default_factory=dict[int, Run])
    """The formatting of words, by the number of their part."""

    @property
    def boxes(self) -> list[Box]:
        """The boxes of the paragraph."""
        return [part for part in self.parts if isinstance(part, Box)]

    def words(self, start: int = 0) -> str:
        """The words from part number `start` on."""
        return "".join(part for part in self.parts[start:] if isinstance(part, str))

    def line(self) -> str:
        """All words, with formulas inserted."""
        return "".join(
            part if isinstance(part, str) else in_words(part)
            for part in self.parts
            if isinstance(part, str) or is_formula(part)
        )

    def add_link(self, start: int, url: str) -> None:
        """Make the words from part number `start` on a link."""
        words = self.words(start).strip()
        if words and url:
            self.links.append({"text": words, "url": url})
            for number in range(start, len(self.parts)):
                self.looks[number] = self.looks.get(number, _PLAIN)._replace(url=url)

    def add_marks(self, marks: str) -> None:
        """Set the formatting of the last part."""
        self.looks[len(self.parts) - 1] = Run("", marks)

    def styled(self, words: str, *, links_only: bool = False) -> str:
        """`words`, which are those of this paragraph, with their formatting."""
        if not self.looks:
            return words
        runs: list[Run] = []
        for number, part in enumerate(self.parts):
            if isinstance(part, str):
                look = self.looks.get(number, _PLAIN)
                runs.append(Run(part, "" if links_only else look.marks, look.url))
            elif is_formula(part):
                runs.append(Run(in_words(part)))
        return styled(words, runs)


def is_formula(part: Part) -> TypeGuard[Element]:
    """Whether a part is a formula, which can be shown inside a line of text."""
    return isinstance(part, Element) and part.category == "formula"


def in_words(formula: Element) -> str:
    """A formula as part of a line of text."""
    return f"${formula.content['expression']}$"


# ------------------------------------------------------------------------------------------------------- the whole text


MAX_LINKS = 200
Links = list[dict[str, str]]


class Story:
    """Collects the elements of a text in reading order and keeps track of the open list."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._list: Items | None = None

    @property
    def last(self) -> Element | None:
        """The last element, unless a list is open or a page or section has begun after it."""
        return self.steps[-1].element if self.steps and self._list is None else None

    def put(self, element: Element) -> None:
        """Add an element that is neither part of a list nor anchored in one."""
        self.end_list()
        self.steps.append(Step("flow", element))

    def put_text(self, words: str, links: Links) -> None:
        """Add a paragraph; one that consists of a link becomes a link."""
        if len(links) == 1 and links[0]["text"] == words:
            self.put(link(str(words), links[0]["url"]))
        else:
            self.put(text(words, **({"links": links[:MAX_LINKS]} if links else {})))

    def put_code(self, words: str) -> None:
        """Add a line of code; it continues the code above it."""
        last = self.last
        # Each line of a listing is a paragraph in the file.
        if last is not None and last.category == "code":
            last.content["code"] += f"\n{words}"
        else:
            self.put(code(words))

    def put_rule(self) -> None:
        """Add a horizontal line."""
        self.put(note("separator", "---"))

    def put_form(self, words: str, fields: list[dict[str, Any]]) -> None:
        """Add form fields; the text around them becomes the text of the form, unless it is long."""
        # A form in a long paragraph would repeat the paragraph.
        own = words if len(words) <= MAX_SUMMARY else ""
        self.put(note("form", own or "; ".join(map(_told, fields)), fields=fields))

    def put_item(self, words: str, links: Links, mark: Mark, depth: int) -> None:
        """Add a list item, to the open list or to a new one."""
        if self._list is not None and not self._list.takes(depth, mark):
            self.end_list()
        if self._list is None:
            self._list = Items()
        self._list.add(depth, words, mark)
        # A table of contents links to headings of the same document: hundreds of links that lead nowhere else.
        self._list.links.extend(links[: MAX_LINKS - len(self._list.links)] if mark is not CONTENTS else ())

    def extends_item(self, words: str) -> bool:
        """Add words to the last item; False if no list is open."""
        if self._list is not None:
            self._list.extend(words)
        return self._list is not None

    def put_beside(self, element: Element, *, is_note: bool = False) -> None:
        """Add an element that is anchored in the last paragraph; if that is a list item, the element follows the
        list."""
        # A list is one element and cannot hold pictures or notes between its items, so these wait until the list ends.
        step = Step("note" if is_note else "flow", element)
        (self._list.after if self._list is not None else self.steps).append(step)

    def is_caption(self, words: str, own: Element | None) -> bool:
        """Use words as the caption of a picture: the one in the same paragraph, or else the one above if it has
        none."""
        self.end_list()
        # Word puts a caption into a paragraph of its own, LibreOffice also into the paragraph of the picture.
        picture = own or self.last
        if picture is None or picture.category != "image" or picture.content["description"]:
            return False
        picture.content["description"] = words
        return True

    def break_page(self) -> None:
        """Start a page."""
        self.end_list()
        self.steps.append(Step("break"))

    def turn_page(self) -> None:
        """Start a page where the program that wrote the file did, for its fonts and paper."""
        # A short list stays in one piece. Its page ends after it.
        if self._list is not None and self._list.is_short:
            self._list.after.append(Step("turn"))
            return
        self.end_list()
        self.steps.append(Step("turn"))

    def begin_section(self, number: int) -> None:
        """Start a section."""
        self.end_list()
        self.steps.append(Step("section", section=number))

    def end_list(self) -> None:
        """Close the open list."""
        if self._list is not None:
            ended, self._list = self._list, None
            self.steps.append(Step("flow", ended.element()))
            self.steps.extend(ended.after)


def _told(entry: dict[str, Any]) -> str:
    shown = {True: "checked", False: "not checked"}.get(entry.get("value", ""), entry.get("value", ""))
    return f"{entry.get('name') or entry.get('type')}: {shown}"


def deletions_remark(count: int) -> Element:
    """A remark about tracked changes."""
    many = counted(count, "deletion")
    return note("annotation", f"Changes are tracked in this document; {many} left out here.")
