"""Archives (zip, tar …) as documents: a table of the files in it. The files themselves are documents of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, note, table
from a2c_documents.paging import paginate
from a2c_documents.parsers.archives.containers import Entry, open_container
from a2c_documents.wording import counted, size_words

MAX_DOCUMENTS = 2_000
"""Files of one archive that are documents."""
MAX_BYTES = 2_000_000_000
"""Unpacked bytes of all of them."""


def open_archive_file(path: Path) -> Source:
    """An archive.

    Raises:
        UnreadableFileError: it is damaged, a bomb, or no archive.
    """
    container = open_container(path)
    try:
        entries = container.entries
    finally:
        container.close()
    files = readable(entries)
    size = sum(entry.size for entry in entries)
    problems = Counter(entry.problem for entry in entries if entry.problem)
    words = f"{counted(len(entries), 'file')}, {size_words(size)} unpacked"
    facts = Facts(
        summary=words,
        details={"files": len(entries), "unpacked_bytes": size} | ({"left_out": dict(problems)} if problems else {}),
        members=[[entry.name, entry.size, entry.modified, entry.mark] for entry in files],
    )
    return PagesSource(facts, paginate([Page("", list(_elements(entries, files)))]))


def readable(entries: Sequence[Entry]) -> list[Entry]:
    """The files that are documents."""
    found: list[Entry] = []
    left = MAX_BYTES
    for entry in entries:
        if not entry.problem and len(found) < MAX_DOCUMENTS and entry.size <= left:
            found.append(entry)
            left -= entry.size
    return found


def _elements(entries: Sequence[Entry], files: Sequence[Entry]) -> list[Element]:
    if not entries:
        return [note("annotation", "This archive has no files.")]
    has_problems = any(entry.problem for entry in entries)
    rows = [
        [entry.name, size_words(entry.size), entry.modified, *([entry.problem] if has_problems else [])]
        for entry in entries
    ]
    found = [table(["File", "Size", "Modified", *(["Not read"] if has_problems else [])], rows)]
    left = sum(not entry.problem for entry in entries) - len(files)
    if left:
        found.append(note("annotation", f"{counted(left, 'further file')} of this archive are listed, but not read."))
    return found
