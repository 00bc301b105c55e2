"""A text on its way to pages: the content of one paragraph (`Said`), and the elements of the whole text (`Story`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from a2c_documents.model import MAX_SUMMARY, Element, code, link, note, text
from a2c_documents.parsers.office.lists import CONTENTS, Items, Mark
from a2c_documents.parsers.office.pages import Step
from a2c_documents.wording import counted

MAX_ABOUT = 300
"""Characters of what a comment is about."""
MAX_DEPTH = 20
"""Notes in notes, boxes in boxes: only files that nobody wrote have more."""


@dataclass(frozen=True, slots=True)
class Box:
    """A text box, or a table in a frame: what is in it follows the paragraph that holds it."""

    content: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Aside:
    """A note or a comment that the text points at, and that the file keeps elsewhere."""

    kind: str
    id: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class PageBreak:
    """The next page begins here."""


Part = str | Element | Box | Aside | PageBreak


@dataclass(slots=True)
class Said:
    """Words and other things in order, the links among them, the fields to fill in, and the notes that stand in it."""

    parts: list[Part] = field(default_factory=list[Part])
    links: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    fields: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    notes: list[Element] = field(default_factory=list[Element])

    @property
    def boxes(self) -> list[Box]:
        """The boxes in it."""
        return [part for part in self.parts if isinstance(part, Box)]

    def words(self, start: int = 0) -> str:
        """The words from a part on."""
        return "".join(part for part in self.parts[start:] if isinstance(part, str))

    def line(self) -> str:
        """All words, and the formulas among them."""
        return "".join(
            part if isinstance(part, str) else in_words(part)
            for part in self.parts
            if isinstance(part, str) or is_formula(part)
        )

    def add_link(self, start: int, url: str) -> None:
        """The words from a part on lead somewhere."""
        words = self.words(start).strip()
        if words and url:
            self.links.append({"text": words, "url": url})


def is_formula(part: Part) -> TypeGuard[Element]:
    """Whether a part is a formula, which can stand in a line of text."""
    return isinstance(part, Element) and part.category == "formula"


def in_words(formula: Element) -> str:
    """A formula inside a line of text."""
    return f"${formula.content['expression']}$"


# ------------------------------------------------------------------------------------------------------- the whole text


MAX_LINKS = 200
Links = list[dict[str, str]]


class Story:
    """Takes what a text says in reading order, and knows which list is still open."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._list: Items | None = None

    @property
    def last(self) -> Element | None:
        """What was said last, unless a list is still open or a page or section has begun since."""
        return self.steps[-1].element if self.steps and self._list is None else None

    def put(self, element: Element) -> None:
        """Something that is no item of a list, nor anchored in one."""
        self.end_list()
        self.steps.append(Step("flow", element))

    def put_text(self, words: str, links: Links) -> None:
        """A paragraph; one that is a link altogether is a link."""
        if len(links) == 1 and links[0]["text"] == words:
            self.put(link(words, links[0]["url"]))
        else:
            self.put(text(words, **({"links": links[:MAX_LINKS]} if links else {})))

    def put_code(self, words: str) -> None:
        """A line of code, which continues the lines above it."""
        last = self.last
        if last is not None and last.category == "code":
            last.content["code"] += f"\n{words}"
        else:
            self.put(code(words))

    def put_rule(self) -> None:
        """A line across the page."""
        self.put(note("separator", "---"))

    def put_form(self, words: str, fields: list[dict[str, Any]]) -> None:
        """Fields to fill in; the words around them are the form's own, unless they are many."""
        own = words if len(words) <= MAX_SUMMARY else ""
        self.put(note("form", own or "; ".join(map(_told, fields)), fields=fields))

    def put_item(self, words: str, links: Links, mark: Mark, depth: int) -> None:
        """An item of a list: of the one that is open, or of a new one."""
        if self._list is not None and not self._list.takes(depth, mark):
            self.end_list()
        if self._list is None:
            self._list = Items()
        self._list.add(depth, words, mark)
        self._list.links.extend(links[: MAX_LINKS - len(self._list.links)] if mark is not CONTENTS else ())

    def extends_item(self, words: str) -> bool:
        """Add words to the last item; False if no list is open."""
        if self._list is not None:
            self._list.extend(words)
        return self._list is not None

    def put_beside(self, element: Element, *, is_note: bool = False) -> None:
        """A picture, a note, a comment: behind the list, if the paragraph it is anchored in is an item of one."""
        step = Step("note" if is_note else "flow", element)
        (self._list.after if self._list is not None else self.steps).append(step)

    def is_caption(self, words: str, own: Element | None) -> bool:
        """Give a picture its caption: the one in the same paragraph, else the one just above if it has none yet."""
        self.end_list()
        picture = own or self.last
        if picture is None or picture.category != "image" or picture.content["description"]:
            return False
        picture.content["description"] = words
        return True

    def break_page(self) -> None:
        """A new page begins."""
        self.end_list()
        self.steps.append(Step("break"))

    def begin_section(self, number: int) -> None:
        """A new section begins."""
        self.end_list()
        self.steps.append(Step("section", section=number))

    def end_list(self) -> None:
        """What follows belongs to no list."""
        if self._list is not None:
            ended, self._list = self._list, None
            self.steps.append(Step("flow", ended.element()))
            self.steps.extend(ended.after)


def _told(entry: dict[str, Any]) -> str:
    shown = {True: "checked", False: "not checked"}.get(entry.get("value", ""), entry.get("value", ""))
    return f"{entry.get('name') or entry.get('type')}: {shown}"


def deletions_remark(count: int) -> Element:
    """What a reader should know of a text whose changes are tracked."""
    many = counted(count, "deletion")
    return note("annotation", f"Changes are tracked in this document; {many} left out here.")
