"""The results of checks: findings, each with advice, collected in reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    """Information, such as an optional part that is missing."""
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """One result of a check."""

    level: Level
    group: str
    text: str
    advice: str | None = None
    """How to fix it."""
    details: tuple[str, ...] = ()
    """Quoted lines, such as the last output of an MCP server."""

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return asdict(self)


class Report:
    """The findings of one check so far, and its current step."""

    def __init__(self, group: str, whole: Report | None = None) -> None:
        self.group = group
        # Parts share the list and the step of the whole: a check that fails or times out in a part keeps its findings.
        self._whole = whole or self
        self.findings: list[Finding] = [] if whole is None else whole.findings
        self.doing = ""
        """The current slow step, for the progress display."""

    def under(self, group: str) -> Report:
        """A part of this report, under another heading."""
        return Report(group, self._whole)

    def now(self, doing: str) -> None:
        """Set the current slow step."""
        self._whole.doing = doing

    def ok(self, text: str) -> None:
        """Add a result without a problem."""
        self._add(Level.OK, text)

    def note(self, text: str, advice: str | None = None) -> None:
        """Add information that needs no action."""
        self._add(Level.NOTE, text, advice)

    def warn(self, text: str, advice: str | None = None) -> None:
        """Add something that works but should change. Leave the advice out if the text gives it."""
        self._add(Level.WARNING, text, advice)

    def fail(self, text: str, advice: str | None = None, details: Iterable[str] = ()) -> None:
        """Add something that does not work. Leave the advice out if the text gives it."""
        self._add(Level.PROBLEM, text, advice, tuple(details))

    def _add(self, level: Level, text: str, advice: str | None = None, details: tuple[str, ...] = ()) -> None:
        self.findings.append(Finding(level, self.group, text, advice, details))


def count(number: int, what: str) -> str:
    """A number with its noun, in the singular or plural."""
    return f"{number} {what}{'s' if number != 1 else ''}"
