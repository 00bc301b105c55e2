"""The outline of a PDF: the titles that point at each page."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from a2c_documents.parsers.pdf.strings import Strings

Outline = dict[int, list[tuple[str, int]]]
"""For each page that has any, its titles and their levels, in the order of the outline."""

_MAX_ENTRIES = 20_000
_MAX_DEPTH = 15
_MAX_TITLE = 200


def read_outline(document: Any) -> Outline:
    """All titles that point at a page.

    pdfium looks for each of these pages from the front of the document: of all that is read of a file before its
    first page, this takes the longest.
    """
    pdfium: Any = importlib.import_module("pypdfium2.raw")
    child_of, sibling_of = pdfium.FPDFBookmark_GetFirstChild, pdfium.FPDFBookmark_GetNextSibling
    target_of, page_of = pdfium.FPDFBookmark_GetDest, pdfium.FPDFDest_GetDestPageIndex
    file, strings = document.raw, Strings()
    outline: Outline = {}
    seen: set[int] = set()
    todo = [(child_of(file, None), 0)]
    while todo and len(seen) < _MAX_ENTRIES:
        entry, level = todo.pop()
        if not entry or ctypes.addressof(entry.contents) in seen:
            continue  # the end, or an outline that goes round in circles
        seen.add(ctypes.addressof(entry.contents))
        todo.append((sibling_of(file, entry), level))
        if level < _MAX_DEPTH - 1:
            todo.append((child_of(file, entry), level + 1))
        target = target_of(file, entry)
        index = page_of(file, target) if target else -1
        title = " ".join(strings.ask(pdfium.FPDFBookmark_GetTitle, entry).split())[:_MAX_TITLE]
        if index >= 0 and title:
            outline.setdefault(index, []).append((title, level))
    return outline
