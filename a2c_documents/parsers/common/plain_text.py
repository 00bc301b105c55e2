"""Plain text as elements: paragraphs, lists and the obvious headings; and the words that a document opens with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from unicodedata import east_asian_width

from a2c_documents.model import Element, heading, list_of, note, text
from a2c_documents.parsers.common.loose import as_dict, as_list
from a2c_documents.wording import shortened


def printed_width(words: str) -> int:
    """In columns of a terminal: Chinese letters take two each, and say as much in half as many."""
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
"""What marks a heading, by suffix, where it is not its looks."""
_TEX_LEVELS = {"chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_NUMBERED = re.compile(
    r"(\d{1,3}(?:\.\d{1,3}){1,5})\.?\s+\S|(?:chapter|part|section|appendix)\s+(?:\d+|[ivxlc]+|[a-z])\b"
    r"|第[\d〇零一二三四五六七八九十百]{1,6}[章节篇部]",
    re.IGNORECASE,
)
_RULE = re.compile(r"([-=_*~])\1{2,}")
_PARAGRAPH_LINES = 200
_PARAGRAPH_BYTES = 16_000


def split_lines(words: str) -> list[str]:
    """Lines as editors count them: only at line feeds and carriage returns."""
    lines = words.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def paragraphs(lines: Sequence[str], first_line: int = 1, suffix: str = "txt") -> Iterator[Element]:
    """The elements of some lines; `suffix` says what marks a heading."""
    start = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number].strip():
            continue
        if number > start:
            yield from _block(lines, start, number, first_line, suffix)
        start = number + 1


def marked_heading(line: str, suffix: str) -> tuple[str, int] | None:
    """The words and the level of a heading that a mark makes one."""
    found = MARKS[suffix].match(line.strip()) if suffix in MARKS else None
    return (found[2].strip(), _TEX_LEVELS.get(found[1], len(found[1]))) if found else None


def _block(lines: Sequence[str], start: int, end: int, first_line: int, suffix: str) -> Iterator[Element]:
    """Lines without an empty one among them: headings and words."""
    begin, size = start, 0
    while start < end:
        # Elsewhere than at a paragraph's beginning only a mark makes a heading.
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
    """The items, if the lines are a list: all begin alike, but for those that go on further to the right."""
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
    return items if len(items) > 1 else []


def _heading(lines: Sequence[str], start: int, end: int, suffix: str) -> tuple[str, int, int] | None:
    """A heading's words, its level, and how many lines it takes."""
    words = lines[start].strip()
    if suffix in MARKS:
        found = marked_heading(words, suffix)
        return (*found, 1) if found else None
    if suffix == "log" or len(words) > MAX_HEADING:
        return None
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
    return abs(len(line) - width) <= max(2, width // 4)


# -------------------------------------------------------------------------------------------------------- opening words


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
    """How informative words are. Quotes, and words that only introduce what follows, count least."""
    if element.category == "list" or element.metadata.get("quote"):
        return 0
    if words.startswith(_MARKUP) or words.endswith(_UNFINISHED):
        return 0
    return min(printed_width(words[:_TELLING]), _TELLING)
