"""Versions of the protocol, as a handshake names them, and the versions that an operator allows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from a2c_smcp.errors import MalformedRequestError, SMCPError, VersionRefusedError

VERSION: Final = "a2c_version"
"""The parameter of a handshake's query that names a version, and the field of a session that shows it."""
_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)
_LINE = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)
_ANY_PATCH = 999


class Line(NamedTuple):
    """The versions that differ in their patch only."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """A line as an operator writes it, such as `0.4`.

        Raises:
            ValueError: it has another form.
        """
        found = _LINE.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a version such as 0.4")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Version(NamedTuple):
    """A version of the protocol."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """A version as a handshake names it; None if it is not three integers."""
        found = _VERSION.fullmatch(text)
        return cls(int(found[1]), int(found[2]), int(found[3])) if found is not None else None

    @property
    def line(self) -> Line:
        """The version without its patch."""
        return Line(self.major, self.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


UNNAMED: Final = Line(0, 1)
"""The versions whose clients name none."""


@dataclass(frozen=True, slots=True)
class AllowedVersions:
    """The versions that an operator allows, as ranges of lines."""

    ranges: tuple[tuple[Line, Line], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """What an operator writes: `0.4`, `0.2-0.4`, or several of these with commas.

        Raises:
            ValueError: a part has another form, or a range has its ends in the wrong order.
        """
        return cls(tuple(_read_range(part.strip()) for part in text.split(",")))

    @property
    def lowest(self) -> Line:
        """The oldest line."""
        return min(low for low, _ in self.ranges)

    @property
    def highest(self) -> Line:
        """The newest line."""
        return max(high for _, high in self.ranges)

    def check(self, version: str | None) -> None:
        """Check what a client names in its handshake.

        Raises:
            MalformedRequestError: it names no version, or not one, and the versions that name none are not allowed.
            VersionRefusedError: its version is not allowed.
        """
        named = Version.parse(version) if version is not None else None
        line = named.line if named is not None else UNNAMED
        if any(low <= line <= high for low, high in self.ranges):
            return
        if named is None:
            how = "is missing" if version is None else "must be three integers, such as 0.4.0"
            raise MalformedRequestError(f"{VERSION} {how}")
        raise VersionRefusedError(
            f"A2C-SMCP {named} is not supported here: this Server accepts {self}",
            details={
                "server_version": f"{self.highest}.0",
                "client_version": str(named),
                "min_supported": f"{self.lowest}.0",
                "max_supported": f"{self.highest}.{_ANY_PATCH}",
            },
        )

    def __str__(self) -> str:
        return ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in self.ranges)


def refusal_body(error: SMCPError) -> dict[str, Any]:
    """The body of the HTTP response with which a handshake is refused: official clients look for it."""
    return {"code": error.code, "message": error.message, **(error.details or {})}


def _read_range(text: str) -> tuple[Line, Line]:
    ends: Iterable[str] = text.split("-") if "-" in text else (text, text)
    low, high = _pair([Line.parse(end.strip()) for end in ends], text)
    return low, high


def _pair(lines: list[Line], text: str) -> tuple[Line, Line]:
    if len(lines) != 2 or lines[1] < lines[0]:
        raise ValueError(f"{text!r} is not a range such as 0.2-0.4")
    return lines[0], lines[1]
