"""What one paragraph of a text says: its words, and what stands among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from a2c_documents.model import Element

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
