"""Structured data: JSON, YAML, TOML, XML, and JSON lines. An outline comes first, then a table or the data."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from a2c_documents.loose import as_dict
from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, code, heading, note
from a2c_documents.paging import MAX_PAGE_BYTES, paginate, part_title, pieces_of
from a2c_documents.parsers.common.decoding import check_text, clean, decode, decode_as, read_bytes
from a2c_documents.parsers.data.outline import compact, describe, outline, records, scalar, table_of, tell
from a2c_documents.parsers.data.xml import XmlData
from a2c_documents.parsers.data.yaml import load_yaml
from a2c_documents.registry import suffix_of
from a2c_documents.wording import counted, shortened

MAX_DATA = 64_000_000
MAX_YAML = 4_000_000
"""YAML is slow to parse, and files written by hand are smaller."""
MAX_TITLE = 120
MAX_DESCRIPTION = 400
_LONG_LINE = 400
_XML_ENCODING = re.compile(rb"<\?xml\b[^>]{0,100}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})")


def open_data(path: Path) -> Source:
    """A file of structured data.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    suffix = suffix_of(path)
    if suffix in ("jsonl", "ndjson"):
        try:
            return JsonLinesSource(path)
        except OSError as error:
            raise UnreadableFileError(f"this file cannot be opened: {error.strerror or error}") from None
    language = "yaml" if suffix == "yml" else suffix
    raw = read_bytes(path, f"{language.upper()} file", MAX_DATA)
    check_text(raw, f"{language.upper()} file")
    words, encoding = decode(raw) if language != "xml" else decode_as(raw, _declared(raw))
    facts = Facts(details={"encoding": encoding})
    elements = data_elements(words, language, facts)
    return PagesSource(facts, paginate([Page(facts.title, elements)]))


def data_elements(words: str, language: str, facts: Facts) -> list[Element]:
    """The elements of data in JSON, YAML, TOML or XML; title and summary are set in `facts`."""
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    try:
        return _READERS[language](words, facts)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        facts.details["valid"] = False
        return [note("annotation", f"This is no valid {language.upper()}: {why}."), _source(words, language)]


def _json(words: str, facts: Facts) -> list[Element]:
    try:
        data = json.loads(words)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} in line {error.lineno}, column {error.colno}") from None
    except ValueError:
        # Only after a failure, because a function of our own makes reading slower.
        data = json.loads(words, parse_int=_integer)
    _name(facts, data)
    elements = [outline(data)]
    if columns := records(data):
        return [*elements, table_of(data, columns)]
    tables = _tables_in(data)
    if tables:
        rest = {key: value for key, value in data.items() if key not in tables}
        if rest:
            elements.append(_source(_pretty(rest), "json", lines=False))
        for key, columns in tables.items():
            elements += [heading(clean(key), 2), table_of(data[key], columns)]
        return elements
    # The text as it is written has the line numbers of the file. Minified JSON in one line is formatted, to be
    # readable.
    if max(map(len, words.split("\n"))) <= _LONG_LINE:
        return [*elements, _source(words, "json")]
    return [*elements, _source(_pretty(data), "json", lines=False)]


def _integer(digits: str) -> int | str:
    """An integer, or its digits as text if there are too many."""
    try:
        return int(digits)
    except ValueError:
        # Python rejects integers of more than 4,300 digits, because converting them takes quadratic time.
        return digits


def _yaml(words: str, facts: Facts) -> list[Element]:
    if len(words) > MAX_YAML:
        return [
            note("annotation", "This file is too large to be understood; it is shown as it is."),
            _source(words, "yaml"),
        ]
    documents = load_yaml(words)
    data = documents[0] if len(documents) == 1 else documents
    _name(facts, data)
    if columns := records(data):
        return [outline(data), table_of(data, columns)]
    # As it is written: the parsed data have neither the comments nor the layout of the author.
    shown = [outline(data)] if len(documents) == 1 else [outline(document) for document in documents[:20]]
    return [*shown, _source(words, "yaml")]


def _toml(words: str, facts: Facts) -> list[Element]:
    data = tomllib.loads(words)
    # `pyproject.toml` and `Cargo.toml` describe themselves in these tables.
    _name(facts, data, data.get("project") or data.get("package") or data)
    return [outline(data), _source(words, "toml")]


def _xml(words: str, facts: Facts) -> list[Element]:
    document = XmlData()
    # The words are decoded already, so a declaration of their original encoding would be wrong.
    document.read(re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", words).encode("utf-8", "replace"))
    root = document.root
    _name(facts, root)
    elements = [outline({document.root_name: root})]
    if document.entities:
        elements.append(note("annotation", "This file declares entities of its own; they are not expanded."))
    inner = as_dict(root)
    lists: dict[str, Any] = {key: value for key, value in inner.items() if isinstance(value, list)}
    others = [key for key in inner if key not in lists and not key.startswith("@")]
    if len(lists) == 1 and not others and (columns := records(next(iter(lists.values())))):
        return [*elements, table_of(next(iter(lists.values())), columns)]
    if max(map(len, words.split("\n"))) <= 2 * _LONG_LINE:
        return [*elements, _source(words, "xml")]
    return [*elements, _source("\n".join(document.indented), "xml", lines=False)]


_READERS: dict[str, Callable[[str, Facts], list[Element]]] = {"json": _json, "yaml": _yaml, "toml": _toml, "xml": _xml}


def _tables_in(data: Any) -> dict[str, list[str]]:
    """The keys of an object whose values are tables, with their columns."""
    found = {key: records(value) for key, value in as_dict(data).items()}
    return {key: columns for key, columns in found.items() if columns}


def _pretty(data: Any) -> str:
    try:
        return clean(json.dumps(data, ensure_ascii=False, indent=2, default=scalar))
    except RecursionError:
        return describe(data)


def _source(words: str, language: str, *, lines: bool = True) -> Element:
    words = words.rstrip("\n")
    return code(words, language, **({"lines": [1, words.count("\n") + 1]} if lines else {}))


def _name(facts: Facts, data: Any, about: Any = None) -> None:
    """Title and summary from the data. `about` is the part that describes them, if it is not the top level."""
    said = as_dict(data if about is None else about)
    title, words = said.get("title"), said.get("description")
    facts.title = " ".join(clean(title).split()) if isinstance(title, str) and len(title) < MAX_TITLE else ""
    facts.summary = shortened(" ".join(clean(words).split()), MAX_DESCRIPTION) if isinstance(words, str) else ""
    facts.summary = facts.summary or tell(data)


def _declared(raw: bytes) -> str:
    found = _XML_ENCODING.search(raw[:200])
    return found[1].decode("ascii", "replace") if found else ""


# ----------------------------------------------------------------------------------------------------------- JSON lines


PAGE_ROWS = 1_000
MAX_LINE = 4_000_000
# The rest of a page is left for the JSON around the values, and for quotes that are escaped in cells.
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
        # All pages take their columns from the first lines, so that the columns are the same on each page.
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
        """Close the file."""
        self._file.close()

    def _index(self) -> tuple[list[tuple[int, int, int, int]], int]:
        """For each page: where it starts, how many bytes it has, its first line and its end."""
        ranges: list[tuple[int, int, int, int]] = []
        start = size = first = number = said = 0
        # With a limit, because a file without line breaks would be read into memory as one line.
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
    # Pages are fixed ranges of lines, so an element that is too long is cut instead of continuing on the next page.
    first = next(pieces_of(element, MAX_PAGE_BYTES))
    if first is not element:
        first.detail = element.detail or element.content
        first.metadata = {**element.metadata, "shortened": True}
    return first


def _values(raw: bytes, first: int) -> tuple[list[Any], list[Element]]:
    """The values, and an annotation for each of the first lines that are not JSON."""
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
