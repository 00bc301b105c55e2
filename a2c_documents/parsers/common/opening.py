"""The first words of a document that say something: its summary, where it gives none itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from a2c_documents.model import Element
from a2c_documents.parsers.common.loose import as_dict, as_list
from a2c_documents.parsers.common.width import printed_width
from a2c_documents.wording import shortened

MAX_OPENING = 300
MAX_ELEMENTS = 20
"""Elements among which it is looked for."""
_LOOKED_AT = 4_000
"""Characters of each."""
_TELLING = 25
"""Width from which words are more than a label, a date or "Hello!"."""
_GREETING = 40
"""Width of a line that may only greet."""
_UNFINISHED = (",", ":", ";", "，", "：", "；", "、")
_MARKUP = (">", "\\", "%", "#+", "..", "<")
"""What quotes, and commands to a program, begin with."""


def opening(elements: Iterable[Element], title: str = "") -> str:
    """The first paragraph that says something, but for the title again; else what says most."""
    looked_at = [(_words(element), element) for element in islice(elements, MAX_ELEMENTS)]
    found = [(words, _worth(words, element)) for words, element in looked_at if words not in ("", title)]
    return shortened(max(found, key=lambda each: each[1], default=("", 0))[0], MAX_OPENING)


def _words(element: Element) -> str:
    """In one line; "Dear Mara," on a line of its own is left out."""
    if element.category == "list":
        items = as_list(element.content.get("items"))[:5]
        return "; ".join(filter(None, (" ".join(str(as_dict(item).get("text", item)).split()) for item in items)))
    if element.category != "text":
        return ""
    words = str(element.content.get("text", ""))[:_LOOKED_AT]
    lines = [line for line in (" ".join(line.split()) for line in words.split("\n")) if line]
    is_greeting = len(lines) > 1 and lines[0].endswith((*_UNFINISHED, "!", "！"))
    return " ".join(lines[1:] if is_greeting and printed_width(lines[0]) <= _GREETING else lines)


def _worth(words: str, element: Element) -> int:
    """How much words say: least those of somebody else, and those that only lead to what follows."""
    if element.category == "list" or element.metadata.get("quote"):
        return 0
    if words.startswith(_MARKUP) or words.endswith(_UNFINISHED):
        return 0
    return min(printed_width(words[:_TELLING]), _TELLING)
