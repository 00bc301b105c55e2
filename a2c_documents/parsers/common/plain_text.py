"""Plain text as elements (paragraphs, lists, clear headings), and the opening words of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from unicodedata import east_asian_width

from a2c_documents.loose import as_dict, as_list
from a2c_documents.model import Element, heading, list_of, note, text
from a2c_documents.wording import shortened


def printed_width(words: str) -> int:
    """The width in columns of a terminal. A Chinese character takes two, and says about as much as two letters."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in words)


# ---------------------------------------------------------------------------------------------------------------- lines


MAX_HEADING = 100
UNDERLINE = re.compile(r"([=\-~^\"'#*+`])\1{2,}")
BULLET = re.compile(r"(\s*)([-*•+]|\d{1,3}[.)])\s+(?=\S)")
MARKS = {
    "md": re.compile(r"(#{1,6})\s+(\S.*?)(?:\s+#+)?$"),
    "org": re.compile(r"(\*{1,6})\s+(\S.*)"),
    "adoc": re.compile(r"(={1,6})\s+(\S.*)"),
    "tex": re.compile(r"\\(chapter|section|subsection|subsubsection|paragraph)\*?\{([^{}]+)\}"),
}
"""The markup of headings, by suffix. In other files, headings are recognized by their layout."""
_TEX_LEVELS = {"chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
# A number needs at least two parts ("2.1"): sentences and dates begin with a single one, too.
_NUMBERED = re.compile(
    r"(\d{1,3}(?:\.\d{1,3}){1,5})\.?\s+\S|(?:chapter|part|section|appendix)\s+(?:\d+|[ivxlc]+|[a-z])\b"
    r"|第[\d〇零一二三四五六七八九十百]{1,6}[章节篇部]",
    re.IGNORECASE,
)
_RULE = re.compile(r"([-=_*~])\1{2,}")
# A log or a word list has no empty lines, and would be a single paragraph.
_PARAGRAPH_LINES = 200
_PARAGRAPH_BYTES = 16_000


def split_lines(words: str) -> list[str]:
    """Lines as editors count them: only at line feeds and carriage returns."""
    # `str.splitlines` also splits at form feeds and at U+2028, which would shift all line numbers against an editor.
    lines = words.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def paragraphs(lines: Sequence[str], first_line: int = 1, suffix: str = "txt") -> Iterator[Element]:
    """The elements of some lines; `suffix` selects the markup of headings."""
    start = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number].strip():
            continue
        if number > start:
            yield from _block(lines, start, number, first_line, suffix)
        start = number + 1


def marked_heading(line: str, suffix: str) -> tuple[str, int] | None:
    """The words and the level of a heading that is marked as one."""
    found = MARKS[suffix].match(line.strip()) if suffix in MARKS else None
    return (found[2].strip(), _TEX_LEVELS.get(found[1], len(found[1]))) if found else None


def _block(lines: Sequence[str], start: int, end: int, first_line: int, suffix: str) -> Iterator[Element]:
    """The elements of lines without an empty line between them."""
    begin, size = start, 0
    while start < end:
        # Without a mark only the first line of a block can be a heading: inside a paragraph the layout proves nothing.
        found = _heading(lines, start, end, suffix) if suffix in MARKS or start == begin else None
        if begin < start and (found or start - begin >= _PARAGRAPH_LINES or size > _PARAGRAPH_BYTES):
            yield _paragraph(lines, begin, start, first_line)
            begin, size = start, 0
        if found:
            words, level, taken = found
            yield heading(words, level, lines=[first_line + start, first_line + start + taken - 1])
            start = begin = start + taken
        else:
            size += len(lines[start])
            start += 1
    if begin < end:
        yield _paragraph(lines, begin, end, first_line)


def _paragraph(lines: Sequence[str], begin: int, end: int, first_line: int) -> Element:
    where = [first_line + begin, first_line + end - 1]
    if end - begin == 1 and _RULE.fullmatch(lines[begin].strip()):
        rule = note("separator", "")
        rule.metadata["lines"] = where
        return rule
    if items := _items(lines[begin:end]):
        number = re.match(r"\s*(\d+)", lines[begin])
        start = {"start": int(number[1])} if number and int(number[1]) != 1 else {}
        return list_of(items, ordered=number is not None, lines=where, **start)
    return text("\n".join(lines[begin:end]).rstrip(), lines=where)


def _items(lines: Sequence[str]) -> list[str]:
    """The items of a list: lines with the same kind of bullet, and lines further right that continue an item."""
    first = BULLET.match(lines[0])
    items: list[str] = []
    if first is None:
        return items
    for line in lines:
        found = BULLET.match(line)
        if found and len(found[1]) == len(first[1]) and found[2][-1] == first[2][-1]:
            items.append(line[found.end() :].strip())
        elif not found and len(line) - len(line.lstrip()) > len(first[1]) and items:
            items[-1] += f" {line.strip()}"
        else:
            return []
    # A dash alone proves nothing: it also begins a remark.
    return items if len(items) > 1 else []


def _heading(lines: Sequence[str], start: int, end: int, suffix: str) -> tuple[str, int, int] | None:
    """The words of a heading, its level, and its number of lines."""
    words = lines[start].strip()
    if suffix in MARKS:
        found = marked_heading(words, suffix)
        return (*found, 1) if found else None
    if suffix == "log" or len(words) > MAX_HEADING:
        return None
    # reStructuredText allows a second line above the title.
    if end - start >= 3 and UNDERLINE.fullmatch(words) and _underlines(lines[start + 2], lines[start + 1]):
        return lines[start + 1].strip(), 1, 3
    if end - start >= 2 and _underlines(lines[start + 1], words):
        return words, 1 if lines[start + 1].strip()[0] in "=#*" else 2, 2
    if end - start == 1 and not words.endswith((".", ",", ";", ":")) and (numbered := _NUMBERED.match(words)):
        return words, min(6, numbered[1].count(".") + 1) if numbered[1] else 1, 1
    return None


def _underlines(line: str, words: str) -> bool:
    line, words = line.strip(), words.strip()
    if not UNDERLINE.fullmatch(line) or not any(character.isalnum() for character in words):
        return False
    width = printed_width(words)
    # Authors draw these lines by eye, so a quarter more or less still counts.
    return abs(len(line) - width) <= max(2, width // 4)


# -------------------------------------------------------------------------------------------------------- opening words


MAX_OPENING = 300
MAX_ELEMENTS = 20
"""Elements that are searched for opening words."""
_LOOKED_AT = 4_000
"""Characters of each element that are looked at."""
_TELLING = 25
"""The width of words that are more than a label, a date or "Hello!"."""
_GREETING = 40
"""The greatest width of a greeting."""
_UNFINISHED = (",", ":", ";", "，", "：", "；", "、")
_MARKUP = (">", "\\", "%", "#+", "..", "<")
"""The beginnings of quotes, and of commands to a program."""


def opening(elements: Iterable[Element], title: str = "") -> str:
    """The first informative paragraph that does not repeat the title; else the most informative text."""
    looked_at = [(_words(element), element) for element in islice(elements, MAX_ELEMENTS)]
    found = [(words, _worth(words, element)) for words, element in looked_at if words not in ("", title)]
    # `_worth` has an upper bound, so that all informative paragraphs are equal, and `max` returns the first of equals.
    return shortened(max(found, key=lambda each: each[1], default=("", 0))[0], MAX_OPENING)


def _words(element: Element) -> str:
    """The words of an element in one line, without a greeting such as "Dear Mara," on the first line."""
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
    """How informative words are. Quotes, and words that only introduce what follows, count least."""
    if element.category == "list" or element.metadata.get("quote"):
        return 0
    if words.startswith(_MARKUP) or words.endswith(_UNFINISHED):
        return 0
    return min(printed_width(words[:_TELLING]), _TELLING)
