"""Plain text: paragraphs and the obvious headings. A long one has pages of some hundred kilobytes, read when wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from a2c_smcp.documents.model import Element, Facts, Page, PagesSource, Source, heading, list_of, note, text
from a2c_smcp.documents.paging import MAX_PAGE_BYTES, paginate
from a2c_smcp.documents.parsers.common.decoding import decode
from a2c_smcp.documents.parsers.common.reading import check_text, read_bytes
from a2c_smcp.documents.registry import suffix_of

MAX_TEXT = 64_000_000
MAX_TITLE = 100
_PARAGRAPH_LINES = 200
_PARAGRAPH_BYTES = 16_000
_PAGE_BYTES = MAX_PAGE_BYTES * 3 // 4
"""What is left of a page is for the JSON around the words."""
_UNDERLINE = re.compile(r"([=\-~^\"'#*+`])\1{2,}")
_NUMBERED = re.compile(
    r"(\d{1,3}(?:\.\d{1,3}){1,5})\.?\s+\S|(?:chapter|part|section|appendix)\s+(?:\d+|[ivxlc]+|[a-z])\b", re.I
)
_BULLET = re.compile(r"(\s*)([-*•+]|\d{1,3}[.)])\s+(?=\S)")
_MARKS = {
    "org": re.compile(r"(\*{1,6})\s+(\S.*)"),
    "adoc": re.compile(r"(={1,6})\s+(\S.*)"),
    "tex": re.compile(r"\\(chapter|section|subsection|subsubsection|paragraph)\*?\{([^{}]+)\}"),
}
_TEX_LEVELS = {"chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_LOG = re.compile(r"\[?\d{2,4}[-/.:]\d{2}[-/.:]\d{2}|\[?(?:TRACE|DEBUG|INFO|WARN|ERROR)")


def open_text(path: Path) -> Source:
    """A text file.

    Raises:
        UnreadableFileError: it is empty or no text.
    """
    raw = read_bytes(path, "text", MAX_TEXT, cut=True)
    check_text(raw, "text")
    words, encoding = decode(raw[:MAX_TEXT])
    lines = split_lines(words)
    suffix = suffix_of(path)
    title = "" if suffix == "log" else title_line(lines)
    if suffix == "tex" and (found := re.search(r"\\title\{([^{}]+)\}", words[:20_000])):
        title = found[1].strip()
    facts = Facts(title=title, details={"encoding": encoding, "lines": len(lines)})
    if max(map(len, lines)) * 4 > _PAGE_BYTES:  # a line may not fit on a page: then they are cut wherever it must be
        return PagesSource(facts, paginate([Page(title or path.name, list(paragraphs(lines, 1, suffix)))]))
    return _TextSource(facts, path.name, lines, suffix, cut=len(raw) > MAX_TEXT)


class _TextSource:
    """Lines, and where the pages begin; elements are made for the page that is asked for."""

    def __init__(self, facts: Facts, name: str, lines: list[str], suffix: str, *, cut: bool) -> None:
        self.facts = facts
        self._lines = lines
        self._suffix = suffix
        self._cut = cut
        self._ranges = _ranges(lines, _MARKS.get(suffix))
        if len(self._ranges) == 1:
            self._titles = [facts.title or name]
        else:
            self._titles = [f"{facts.title or name} (lines {first + 1}–{end})" for first, end in self._ranges]

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return self._titles

    def page(self, index: int) -> Page:
        """One page."""
        first, end = self._ranges[index]
        elements = list(paragraphs(self._lines[first:end], first + 1, self._suffix))
        if self._cut and index == len(self._ranges) - 1:
            elements.append(
                note("annotation", f"The file goes on: only its first {MAX_TEXT // 1_000_000} MB are shown.")
            )
        return Page(self._titles[index], elements)

    def close(self) -> None:
        """Nothing is held open."""


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


def title_line(lines: Sequence[str]) -> str:
    """The first line, if it stands alone and reads like a title."""
    first = next((number for number, line in enumerate(lines[:200]) if line.strip()), None)
    if first is None:
        return ""
    if _UNDERLINE.fullmatch(lines[first].strip()) and first + 1 < len(lines):
        first += 1  # a title between two lines
    words = lines[first].strip()
    below = lines[first + 1].strip() if first + 1 < len(lines) else ""
    alone = first + 1 < len(lines) and (not below or bool(_UNDERLINE.fullmatch(below)))
    if (
        not alone
        or len(words) > MAX_TITLE
        or words.endswith((".", ",", ";", ":", "!", "{", "}", "\\"))
        or _LOG.match(words)
    ):
        return ""
    words = words.lstrip("#*= ").rstrip("# ") if words[:1] in "#*=" else words
    return (
        words
        if any(character.isalpha() for character in words) and not words.startswith(("\\", "%", "<", ".."))
        else ""
    )


def _block(lines: Sequence[str], start: int, end: int, first_line: int, suffix: str) -> Iterator[Element]:
    """Lines without an empty one among them: headings and words."""
    mark = _MARKS.get(suffix)
    begin, size = start, 0
    while start < end:
        # Elsewhere than at a paragraph's beginning only a mark makes a heading.
        found = _heading(lines, start, end, suffix) if mark is not None or start == begin else None
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
    if items := _items(lines[begin:end]):
        return list_of(
            items, ordered=lines[begin].lstrip()[0].isdigit(), lines=[first_line + begin, first_line + end - 1]
        )
    return text("\n".join(lines[begin:end]).rstrip(), lines=[first_line + begin, first_line + end - 1])


def _items(lines: Sequence[str]) -> list[str]:
    """The items, if the lines are a list: all begin alike, but for those that go on further to the right."""
    first = _BULLET.match(lines[0])
    items: list[str] = []
    if first is None:
        return items
    for line in lines:
        found = _BULLET.match(line)
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
    if mark := _MARKS.get(suffix):
        found = mark.match(words)
        return (found[2].strip(), _TEX_LEVELS.get(found[1], len(found[1])), 1) if found else None
    if suffix == "log" or len(words) > MAX_TITLE:
        return None
    if end - start >= 3 and _UNDERLINE.fullmatch(words) and _underlines(lines[start + 2], lines[start + 1]):
        return lines[start + 1].strip(), 1, 3
    if end - start >= 2 and _underlines(lines[start + 1], words) and any(c.isalnum() for c in words):
        return words, 1 if lines[start + 1].strip()[0] in "=#*" else 2, 2
    if end - start == 1 and not words.endswith((".", ",", ";", ":")) and (found := _NUMBERED.match(words)):
        return words, min(6, found[1].count(".") + 1) if found[1] else 1, 1
    return None


def _underlines(line: str, words: str) -> bool:
    line, words = line.strip(), words.strip()
    return bool(_UNDERLINE.fullmatch(line)) and abs(len(line) - len(words)) <= max(2, len(words) // 4)


def _ranges(lines: Sequence[str], mark: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """First line and end of each page; between two paragraphs if one ends in the last quarter of the page."""
    ranges: list[tuple[int, int]] = []
    start = size = 0
    gap = -1
    for number, line in enumerate(lines):
        length = len(line.encode("utf-8", "replace")) + 4
        if size + length > _PAGE_BYTES and number > start:
            cut = gap if gap > start else number
            ranges.append((start, cut))
            size = sum(len(part.encode("utf-8", "replace")) + 4 for part in lines[cut:number])
            start, gap = cut, -1
        if not line.strip() or (mark is not None and mark.match(line)):
            length += 120  # a further element
        if not line.strip() and size > _PAGE_BYTES * 3 // 4:
            gap = number + 1
        size += length
    ranges.append((start, len(lines)))
    return ranges
