"""JSON lines: one value in each line, read page by page. Opening only finds out where the lines are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from a2c_documents.model import Element, Facts, Page, UnreadableFileError, code, note
from a2c_documents.paging import MAX_PAGE_BYTES, part_title, pieces_of
from a2c_documents.parsers.common.reading import check_text, clean
from a2c_documents.parsers.data.outline import compact, outline, records, table_of
from a2c_documents.wording import counted, shortened

PAGE_ROWS = 1_000
MAX_LINE = 4_000_000
_PAGE_BYTES = MAX_PAGE_BYTES * 2 // 3
_SAMPLE = 200


class JsonLinesSource:
    """Each page is a range of bytes in the file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            self._ranges, self._count = self._index()
            sample = self._sample()
        except BaseException:
            self._file.close()
            raise
        self._columns = records(sample) or []
        self._outline = outline(sample if len(sample) != 1 else sample[0])
        self._outline.summary = f"{counted(self._count, 'line')} of JSON"
        named = f": {', '.join(self._columns)}" if self._columns else ""
        self.facts = Facts(summary=shortened(f"{self._outline.summary}{named}"), details={"lines": self._count})
        self._titles = [part_title("", f"lines {first + 1}–{end}") for _, _, first, end in self._ranges]
        if len(self._titles) == 1:
            self._titles = [""]

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return self._titles

    def page(self, index: int) -> Page:
        """One page."""
        start, size, first, end = self._ranges[index]
        self._file.seek(start)
        values, bad = _values(self._file.read(size), first)
        elements: list[Element] = [self._outline] if index == 0 else []
        where = [first + 1, end]
        if self._columns and all(isinstance(value, dict) for value in values):
            elements.append(table_of(cast("list[dict[Any, Any]]", values), self._columns, lines=where))
        elif values:
            elements.append(code("\n".join(map(compact, values)), "json", lines=where))
        return Page(self._titles[index], [*map(_fitting, elements), *bad])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _index(self) -> tuple[list[tuple[int, int, int, int]], int]:
        """For each page: where it starts, how many bytes it has, its first line and its end."""
        ranges: list[tuple[int, int, int, int]] = []
        start = size = first = number = said = 0
        while line := self._file.readline(MAX_LINE + 1):
            if number == 0:
                check_text(line, "file of JSON lines")
            if len(line) > MAX_LINE:
                raise UnreadableFileError(f"line {number + 1} is longer than {MAX_LINE // 1_000_000} MB")
            if size and (size + len(line) > _PAGE_BYTES or number - first >= PAGE_ROWS):
                ranges.append((start, size, first, number))
                start, size, first = start + size, 0, number
            size += len(line)
            number += 1
            said += bool(line.strip())
        ranges.append((start, size, first, number))
        if not said:
            raise UnreadableFileError("the file is empty")
        return ranges, number

    def _sample(self) -> list[Any]:
        self._file.seek(0)
        lines: list[bytes] = []
        while len(lines) < _SAMPLE and sum(map(len, lines)) < MAX_LINE and (line := self._file.readline()):
            lines.append(line)
        return _values(b"".join(lines), 0)[0]


def _fitting(element: Element) -> Element:
    """An element, or the beginning of one that is longer than a page; all of it is in the detail."""
    first = next(pieces_of(element, MAX_PAGE_BYTES))
    if first is not element:
        first.detail = element.detail or element.content
        first.metadata = {**element.metadata, "shortened": True}
    return first


def _values(raw: bytes, first: int) -> tuple[list[Any], list[Element]]:
    """The values, and an annotation for every line that is none; the first few of them."""
    values: list[Any] = []
    bad: list[Element] = []
    for number, line in enumerate(raw.split(b"\n"), first + 1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line.removeprefix(b"\xef\xbb\xbf")))
        except (ValueError, RecursionError):
            words = clean(line[:80].decode("utf-8", "replace")).strip()
            bad.append(note("annotation", f"Line {number} is no JSON: {words}"))
    if len(bad) > 10:
        bad = [*bad[:10], note("annotation", f"So are {len(bad) - 10} further lines.")]
    return values, bad
