"""Generates the reference pages from the code: commands, settings, configuration, error codes and the Python API.

The pages are committed, so that they can be read in the repository. `make docs` regenerates them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import commands, configuration, errors, examples, python_pages, settings, wire

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES: dict[str, Callable[[], str]] = {
    "examples.md": examples.page,
    "reference/cli.md": commands.page,
    "reference/configuration.md": configuration.page,
    "reference/settings.md": settings.page,
    "reference/errors.md": errors.page,
    **{f"reference/python/{name}.md": page for name, page in python_pages.PAGES.items()},
    "reference/python/wire.md": wire.page,
}
"""The generator of each page, by its path in `docs/`."""
_NOTE = "<!-- Written by `make docs` from the code: change it there. -->\n\n"


def written(place: str) -> str:
    """Return the contents of the file of a page."""
    return _NOTE + PAGES[place]()


def write_all() -> None:
    """Write all pages."""
    for place in PAGES:
        file = DOCS / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(place), "utf-8")
