"""Files of unknown formats, as documents with one page that gives the reason."""

from __future__ import annotations

from pathlib import Path

from a2c_documents.model import Facts, Page, PagesSource, Source, note


def open_unknown(path: Path) -> Source:
    """One page that states the size of the file."""
    size = path.stat().st_size
    what = "The file is empty." if size == 0 else f"No text can be read from a file of this type ({size:,} bytes)."
    return Unreadable(what)


class Unreadable(PagesSource):
    """A page that says why a file cannot be read."""

    def __init__(self, problem: str) -> None:
        super().__init__(Facts(summary=problem), [Page("", [note("annotation", problem)])])
        self.problem = problem
