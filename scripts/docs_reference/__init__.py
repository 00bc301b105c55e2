"""The pages of the documentation that are written by the code: what may be configured, typed and answered.

They are files of the repository, so that they can be read there too. `make docs` writes them anew.
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
"""What writes a page, by the place of the page in `docs/`."""
_NOTE = "<!-- Written by `make docs` from the code: change it there. -->\n\n"


def written(place: str) -> str:
    """What the file of a page holds."""
    return _NOTE + PAGES[place]()


def write_all() -> None:
    """Write the file of each page."""
    for place in PAGES:
        file = DOCS / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(place), "utf-8")
