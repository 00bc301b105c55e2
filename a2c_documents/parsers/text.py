"""Plain text. Long files have pages of some hundred kilobytes, made on request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, heading, note
from a2c_documents.paging import MAX_PAGE_BYTES, paginate, part_title
from a2c_documents.parsers.common.decoding import check_text, decode, read_bytes
from a2c_documents.parsers.common.plain_text import (
    BULLET,
    MARKS,
    MAX_HEADING,
    UNDERLINE,
    marked_heading,
    opening,
    paragraphs,
    split_lines,
)
from a2c_documents.registry import suffix_of

MAX_TEXT = 64_000_000
MAX_PREAMBLE = 200
"""Lines in which a title is searched."""
_PAGE_BYTES = MAX_PAGE_BYTES * 3 // 4
"""The rest of a page is left for the JSON around the words."""
_DECLARED = {
    "tex": re.compile(r"\s*\\title(?:\[[^\]]*\])?\{([^{}]+)\}"),
    "org": re.compile(r"\s*#\+title:\s*(\S.*)", re.IGNORECASE),
}
_LOG = re.compile(r"\[?\d{2,4}[-/.:]\d{2}[-/.:]\d{2}|\[?(?:TRACE|DEBUG|INFO|WARN|ERROR)")
_NO_TITLE_ENDS = (".", ",", ";", ":", "!", "?", "{", "}", "\\", "。", "，", "；", "：", "！", "？")
_NO_TITLE_STARTS = ("\\", "%", "<", ">", "..", "http:", "https:")


@dataclass(frozen=True, slots=True)
class _Title:
    """The title of a text, and the lines it takes."""

    words: str = ""
    start: int = 0
    end: int = 0


def open_text(path: Path) -> Source:
    """A text file.

    Raises:
        UnreadableFileError: the file is empty or not a text.
    """
    raw = read_bytes(path, "text", MAX_TEXT, cut=True)
    check_text(raw, "text")
    is_cut = len(raw) > MAX_TEXT
    words, encoding = decode(raw[:MAX_TEXT], is_cut=is_cut)
    lines, suffix = split_lines(words), suffix_of(path)
    title = _title(lines, suffix)
    facts = Facts(title=title.words, details={"encoding": encoding, "lines": len(lines)})
    source = _TextSource(facts, lines, suffix, title, is_cut=is_cut)
    if suffix != "log":  # the first lines of a log do not describe it
        facts.summary = opening(source.elements(0, len(lines)), title.words)
    if max(map(len, lines)) * 4 > _PAGE_BYTES:  # a line may not fit on a page: cut inside lines
        return PagesSource(facts, paginate([Page(title.words, list(source.elements(0, len(lines))))]))
    return source


class _TextSource:
    """Lines and the beginnings of pages. Elements are made for the requested page only."""

    def __init__(self, facts: Facts, lines: list[str], suffix: str, title: _Title, *, is_cut: bool) -> None:
        self.facts = facts
        self._lines = lines
        self._suffix = suffix
        self._title = title
        self._is_cut = is_cut
        self._ranges = _ranges(lines, suffix)
        self._titles = [title.words]
        if len(self._ranges) > 1:
            self._titles = [part_title(title.words, f"lines {first + 1}–{end}") for first, end in self._ranges]

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return self._titles

    def page(self, index: int) -> Page:
        """One page."""
        return Page(self._titles[index], list(self.elements(*self._ranges[index])))

    def close(self) -> None:
        """Nothing to close."""

    def elements(self, first: int, end: int) -> Iterator[Element]:
        """The elements of some lines."""
        title = self._title
        # The title is a heading although its layout alone would not make it one, for example a first line without
        # underline.
        if first <= title.start < title.end <= end:
            yield heading(title.words, 1, lines=[title.start + 1, title.end])
            first = title.end
        yield from paragraphs(self._lines[first:end], first + 1, self._suffix)
        if self._is_cut and end == len(self._lines):
            yield note("annotation", f"The file goes on: only its first {MAX_TEXT // 1_000_000} MB are shown.")


def _title(lines: Sequence[str], suffix: str) -> _Title:
    """The title that the author marked, else the first line if it is alone and reads like a title."""
    if suffix == "log":
        return _Title()
    if suffix in MARKS:
        said = (_declared(line, suffix) for line in lines[:MAX_PREAMBLE])
        marked = (found[0] for line in lines[:MAX_PREAMBLE] if (found := marked_heading(line, suffix)))
        return _Title(next(filter(None, said), "") or next(marked, ""))
    start = first = next((number for number, line in enumerate(lines[:MAX_PREAMBLE]) if line.strip()), 0)
    if UNDERLINE.fullmatch(lines[start].strip()):  # a title between two lines
        first += 1
    if first + 1 >= len(lines):
        return _Title()
    below = lines[first + 1].strip()
    is_underlined = UNDERLINE.fullmatch(below) is not None
    end = first + 2 if is_underlined else first + 1
    words = _title_words(lines[first]) if is_underlined or not below else ""
    # A title needs a text below it: a file with a single line is a text.
    return _Title(words, start, end) if words and any(line.strip() for line in lines[end:]) else _Title()


def _declared(line: str, suffix: str) -> str:
    found = _DECLARED[suffix].match(line) if suffix in _DECLARED else None
    return found[1].strip() if found else ""


def _title_words(line: str) -> str:
    words = line.strip()
    if len(words) > MAX_HEADING or words.endswith(_NO_TITLE_ENDS) or _LOG.match(words):
        return ""
    if words.startswith("#"):
        words = words.strip("# ")
    if BULLET.match(words) or words.startswith(_NO_TITLE_STARTS):
        return ""
    return words if any(character.isalpha() for character in words) else ""


def _ranges(lines: Sequence[str], suffix: str) -> list[tuple[int, int]]:
    """First line and end of each page. A page ends between two paragraphs if one ends in its last quarter."""
    ranges: list[tuple[int, int]] = []
    start = size = 0
    gap = -1
    for number, line in enumerate(lines):
        length = len(line.encode("utf-8", "replace")) + 4
        if size + length > _PAGE_BYTES and number > start:
            # Lines are moved to the next page with the paragraph that they belong to, so their size is counted again.
            cut = gap if gap > start else number
            ranges.append((start, cut))
            size = sum(len(part.encode("utf-8", "replace")) + 4 for part in lines[cut:number])
            start, gap = cut, -1
        if not line.strip() or marked_heading(line, suffix):
            length += 120  # a further element
        if not line.strip() and size > _PAGE_BYTES * 3 // 4:
            gap = number + 1
        size += length
    ranges.append((start, len(lines)))
    return ranges
