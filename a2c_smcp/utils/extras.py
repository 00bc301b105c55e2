"""How what is missing is installed. It is said here and nowhere else, so that it changes in one place."""

from __future__ import annotations


def how_to_install(extra: str | None = None) -> str:
    """The command that installs this package, with an extra or without; it works in a clone of the project."""
    return "`pip install .` in a clone of the project" if extra is None else f"`pip install '.[{extra}]'` in a clone"
