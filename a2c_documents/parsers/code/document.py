"""Source code: the file as it is, in pieces that begin where its classes and functions do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from a2c_documents.model import MAX_SUMMARY, Element, Facts, Page, PagesSource, Source, code
from a2c_documents.paging import paginate
from a2c_documents.parsers.code.outline import Definition, outline
from a2c_documents.parsers.common.lines import split_lines
from a2c_documents.parsers.common.reading import read_text
from a2c_documents.registry import LANGUAGES, NAMES, suffix_of
from a2c_documents.wording import shortened

MAX_CODE = 32_000_000
MAX_PIECE = 400
"""Lines of a piece where nothing says where one begins."""
_SHEBANG = re.compile(r"#!.*?\b(python|node|bash|sh|zsh|ruby|perl|php|lua)[\d.]*\s*$")
_INTERPRETERS = {"node": "javascript", "sh": "bash"}


def open_code(path: Path) -> Source:
    """A source file.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    source, encoding = read_text(path, "source file", MAX_CODE)
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    lines = split_lines(source)
    language = _language(path, lines)
    found, words = outline(source, lines, language)
    names = [definition.name for definition in found if definition.name]
    facts = Facts(
        summary=shortened(words or ", ".join(names), 2 * MAX_SUMMARY),
        details={"language": language, "lines": len(lines), "encoding": encoding},
    )
    return PagesSource(facts, paginate([Page("", list(_pieces(lines, found, language)))]))


def _language(path: Path, lines: Sequence[str]) -> str:
    suffix = suffix_of(path)
    if known := LANGUAGES.get(suffix) or NAMES.get(suffix) or NAMES.get(path.name.lower()):
        return known
    found = _SHEBANG.match(lines[0][:200]) if lines else None
    return _INTERPRETERS.get(found[1], found[1]) if found else ""


def _pieces(lines: Sequence[str], found: Sequence[Definition], language: str) -> Iterator[Element]:
    starts: dict[int, Definition | None] = {0: None}
    for definition in found:
        if definition.name or definition.line not in starts:
            starts[definition.line] = definition
    edges = sorted(start for start in starts if start < len(lines))
    for start, end in zip(edges, [*edges[1:], len(lines)], strict=True):
        definition = starts[start]
        named = definition is not None and bool(definition.name)
        for first, last in _cuts(lines, start, end, whole=named):
            piece = code("\n".join(lines[first:last]), language, lines=[first + 1, last])
            if definition is not None and first == start:
                piece.summary = _describe(definition)
            yield piece


def _cuts(lines: Sequence[str], start: int, end: int, *, whole: bool) -> Iterator[tuple[int, int]]:
    """Without empty lines around; code that nothing divides is cut by size, at an empty line where one is near."""
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    while not whole and end - start > MAX_PIECE + MAX_PIECE // 2:
        near = range(start + MAX_PIECE, start + MAX_PIECE // 2, -1)
        cut = next((number for number in near if not lines[number].strip()), start + MAX_PIECE)
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _describe(definition: Definition) -> str:
    members = ", ".join(definition.members)
    return shortened(f"{definition.name}: {members}" if members else definition.name)
