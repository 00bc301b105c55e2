"""Rich text (rtf): its words, with tables, lists, links and page breaks. Pictures, bold and italics are left out."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from a2c_documents.inline import Run, Styled
from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, list_of, table, text
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import clean, read_bytes
from a2c_documents.parsers.common.plain_text import BULLET, opening
from a2c_documents.parsers.common.portions import in_portions
from a2c_documents.wording import shortened

MAX_RTF = 64_000_000
MAX_WORDS = 4_000_000
"""Bytes without pictures. A million take some seconds."""
_PICTURE = re.compile(rb"[0-9a-fA-F\s]{1000,}")
_BINARY = re.compile(rb"\\bin([0-9]{1,9}) ")
_BREAK = re.compile(rb"\\(?:page|sbkpage)(?![a-z])")
_BREAK_MARK = "\x0c"
_LINK = re.compile(r'HYPERLINK\s+"([^"\n]{1,2000})"[^{}]{0,200}\}{1,3}\s{0,9}\{\\fldrslt\s{0,9}\{?([^{}]{1,1000})\}')
_CONTROL = re.compile(r"\\[a-z]+-?\d* ?")
_FACT = r"\{\\%s ([^{}\\]{1,500})\}"
_MAX_TITLE = 80


def open_rtf(path: Path) -> Source:
    """A rich text.

    Raises:
        UnreadableFileError: it is empty, damaged, too large, or in another format.
    """
    facts, pages = _read(read_bytes(path, "rich text", MAX_RTF))
    if not pages:
        raise UnreadableFileError("this rich text has no words")
    facts.summary = opening(pages[0], facts.title)
    made = [Page(facts.title if number == 0 else "", elements) for number, elements in enumerate(pages)]
    for page in made:
        page.title = page.title or _title(page.elements)
    return PagesSource(facts, paginate(in_portions(made)))


def rtf_elements(raw: bytes) -> list[Element]:
    """The elements of a rich text that is part of another file.

    Raises:
        UnreadableFileError: it is damaged or too large.
    """
    return [element for page in _read(raw)[1] for element in page]


def _read(raw: bytes) -> tuple[Facts, list[list[Element]]]:
    """The facts, and the elements between page breaks."""
    if not raw.lstrip().startswith(b"{\\rtf"):
        raise UnreadableFileError("this file is not a valid rich text: it does not begin with {\\rtf")
    raw = _without_pictures(raw)
    if len(raw) > MAX_WORDS:
        raise UnreadableFileError(f"this rich text is too large: it has more than {MAX_WORDS // 1_000_000} MB of words")
    source = _BREAK.sub(rb"\\par " + _BREAK_MARK.encode(), raw).decode("latin-1")
    try:
        words = clean(rtf_to_text(source, errors="replace").replace("\x00", ""))
    except (ValueError, LookupError, IndexError, OverflowError) as error:
        raise UnreadableFileError(f"this rich text is damaged: {error}") from None
    facts = Facts(title=_fact(source, "title"), author=_fact(source, "author"))
    # The library leaves out addresses. Each link is the next place with its words.
    links = deque((_CONTROL.sub("", found[2]).strip(), found[1]) for found in _LINK.finditer(source))
    pages = [list(_elements(part.split("\n"), links)) for part in words.split(_BREAK_MARK)]
    return facts, [elements for elements in pages if elements]


def _without_pictures(raw: bytes) -> bytes:
    """The source without the bytes of pictures, which would take most of the time."""
    found: list[bytes] = []
    place = 0
    for mark in _BINARY.finditer(raw):
        if mark.start() >= place:
            found.append(raw[place : mark.start()])
            place = mark.end() + int(mark[1])
    return _PICTURE.sub(b" ", b"".join([*found, raw[place:]]))


def _fact(source: str, name: str) -> str:
    found = re.search(_FACT % name, source[:100_000])
    return " ".join(found[1].split()) if found else ""


def _elements(lines: Sequence[str], links: deque[tuple[str, str]]) -> Iterator[Element]:
    """Paragraphs are lines, and the cells of a table end with bars."""
    start = 0
    while start < len(lines):
        kind = _kind(lines[start])
        end = start + 1
        while kind != "text" and end < len(lines) and _kind(lines[end]) == kind:
            end += 1
        block = lines[start:end]
        start = end
        if kind == "table":
            yield _table(block)
        elif kind == "list" and len(block) > 1:
            is_ordered = block[0].lstrip()[0].isdigit()
            yield list_of([BULLET.sub("", line).strip() for line in block], ordered=is_ordered)
        else:
            yield from (text(_linked(line.strip(), links)) for line in block if line.strip())


def _linked(line: str, links: deque[tuple[str, str]]) -> str:
    """A paragraph with the links in it."""
    runs: list[Run] = []
    while links and links[0][0] and links[0][0] in line:
        words, url = links.popleft()
        before, _, line = line.partition(words)
        runs += [Run(before), Run(words, "", url)]
    return Styled.of([*runs, Run(line)]) if runs else line


def _kind(line: str) -> str:
    if line.rstrip().endswith("|"):
        return "table"
    return "list" if BULLET.match(line) else "text"


def _table(lines: Sequence[str]) -> Element:
    rows = [[" ".join(cell.split()) for cell in line.rstrip().removesuffix("|").split("|")] for line in lines]
    width = max(map(len, rows))
    rows = [row + [""] * (width - len(row)) for row in rows]
    return table(rows[0], rows[1:])


def _title(elements: Sequence[Element]) -> str:
    first = elements[0].content
    words = str(first.get("text") or (first.get("items") or first.get("headers") or [""])[0])
    return shortened(" ".join(words.split()), _MAX_TITLE)
