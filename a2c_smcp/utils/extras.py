"""The commands that install missing parts, for all messages: they change in one place."""

from __future__ import annotations


def how_to_install(extra: str | None = None) -> str:
    """The command that installs this package, with or without an extra, in a clone of the project."""
    return "`pip install .` in a clone of the project" if extra is None else f"`pip install '.[{extra}]'` in a clone"
