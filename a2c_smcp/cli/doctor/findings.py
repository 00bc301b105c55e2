"""What checks say: findings, each with what to do about it, collected in reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    """Neither good nor bad: something that is not there and need not be."""
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One thing that was found out."""

    level: Level
    group: str
    text: str
    advice: str | None = None
    """What to do about it."""
    details: tuple[str, ...] = ()
    """Lines that somebody else wrote, such as the last words of a program."""

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return asdict(self)


class Report:
    """What one check has found so far, and what it is doing now."""

    def __init__(self, group: str, whole: Report | None = None) -> None:
        self.group = group
        self._whole = whole or self
        self.findings: list[Finding] = [] if whole is None else whole.findings
        self.doing = ""
        """What takes a while, for whoever watches."""

    def under(self, group: str) -> Report:
        """A part of this report, under another heading."""
        return Report(group, self._whole)

    def now(self, doing: str) -> None:
        """Say what takes a while."""
        self._whole.doing = doing

    def ok(self, text: str) -> None:
        """All is well."""
        self._add(Level.OK, text)

    def note(self, text: str, advice: str | None = None) -> None:
        """Something is not there, or not known, and need not be."""
        self._add(Level.NOTE, text, advice)

    def warn(self, text: str, advice: str | None = None) -> None:
        """It works, but …; no advice where the text says what to do."""
        self._add(Level.WARNING, text, advice)

    def fail(self, text: str, advice: str | None = None, details: Iterable[str] = ()) -> None:
        """It does not work; no advice where the text says what to do."""
        self._add(Level.PROBLEM, text, advice, tuple(details))

    def _add(self, level: Level, text: str, advice: str | None = None, details: tuple[str, ...] = ()) -> None:
        self.findings.append(Finding(level, self.group, text, advice, details))


def count(number: int, what: str) -> str:
    """So many of something."""
    return f"{number} {what}{'s' if number != 1 else ''}"
