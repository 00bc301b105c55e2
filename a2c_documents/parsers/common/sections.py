"""Where a text that is divided by headings has its pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from a2c_documents.model import Element, Page

MAX_TITLE = 120


def by_heading(elements: Sequence[Element], title: str) -> list[Page]:
    """Pages that begin at the highest level of headings that occurs more than once; `title` names what comes before.

    Headings alone are no page: a document's title that is followed at once by its first chapter goes on that page.
    """
    levels = Counter(_level(element) for element in elements if element.category == "heading")
    divided = min((level for level, count in levels.items() if count > 1), default=0)
    first = next((_words(element) for element in elements if element.category == "heading"), "")
    pages = [Page(first or title)]
    begun = False
    for element in elements:
        if element.category == "heading" and _level(element) <= divided:
            begun = begun or _level(element) == divided
            if not _only_higher(pages[-1], _level(element)) and begun:
                pages.append(Page(_words(element)))
            elif begun:
                pages[-1].title = _words(element)
        pages[-1].elements.append(element)
    return pages


def title_of(elements: Sequence[Element]) -> str:
    """The one heading of the first level, if there is just one."""
    found = [_words(element) for element in elements if element.category == "heading" and _level(element) == 1]
    return found[0] if len(found) == 1 else ""


def _only_higher(page: Page, level: int) -> bool:
    return all(element.category == "heading" and _level(element) < level for element in page.elements)


def _level(element: Element) -> int:
    return int(element.content["level"])


def _words(element: Element) -> str:
    words = " ".join(str(element.content["text"]).split())
    return words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1] + "…"
