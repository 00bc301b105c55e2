"""The pages of the documentation that are written by the code: what may be configured, typed and answered.

They are made anew whenever the site is built, and are in no file.
"""

from __future__ import annotations

from collections.abc import Callable

from . import commands, configuration, errors, examples, settings

PAGES: dict[str, Callable[[], str]] = {
    "examples.md": examples.page,
    "reference/cli.md": commands.page,
    "reference/configuration.md": configuration.page,
    "reference/settings.md": settings.page,
    "reference/errors.md": errors.page,
}
"""What writes a page, by the place of the page in `docs/`."""
