"""Mistakes in the settings of a Server, and where they are: a flag, an environment variable, or a line of the file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.problems import Problem, mistakes_in, problem_at
from a2c_smcp.utils.toml_lines import lines_of

TABLES = ("mcp_profiles", "oidc_grants")
"""Settings that may be tables of the file."""
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class SettingsError(ValueError):
    """Invalid settings, with a line for each mistake."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def load_settings(flags: Mapping[str, Any], config: Path | None) -> ServerSettings:
    """Read the settings.

    Raises:
        SettingsError: they have mistakes.
        OSError: the file cannot be read.
    """
    try:
        return ServerSettings.load(dict(flags), config)
    except ValueError as error:
        problems = problems_of(error, flags, config)
        lines = [f"{config}: {problem}" if problem.line is not None else str(problem) for problem in problems]
        raise SettingsError(lines) from None


def problems_of(error: ValueError, flags: Mapping[str, Any], config: Path | None) -> list[Problem]:
    """The problems because of which `ServerSettings.load(flags, config)` raised an error. Those in the file have a
    line.

    Raises:
        ValueError: it is another error.
    """
    if isinstance(error, tomllib.TOMLDecodeError) and config is not None:
        return [_syntax_problem(error, config.read_text("utf-8"))]
    if isinstance(error, UnicodeDecodeError):
        return [Problem("", "it is not UTF-8 text", 1 + error.object[: error.start].count(b"\n"))]
    if not isinstance(error, ValidationError):
        raise error
    text = config.read_text("utf-8") if config is not None else ""
    return sorted(_problems(error, flags, text), key=lambda problem: problem.line or 0)


def _problems(error: ValidationError, flags: Mapping[str, Any], text: str) -> Iterator[Problem]:
    data, lines = tomllib.loads(text), lines_of(text)
    for path, message in mistakes_in(data, error, ServerSettings):
        # In the order of precedence: the source that set the value is the one to correct.
        name = str(path[0]) if path else ""
        if name in flags:
            yield Problem("--" + name.replace("_", "-"), message)
        elif name not in data:
            yield Problem("A2C_" + name.upper(), message)
        elif isinstance(data[name], dict) and name not in TABLES:
            yield problem_at((name,), "must not be a table: settings are at the top of the file", lines)
        else:
            yield problem_at((name,), message, lines)


def _syntax_problem(error: tomllib.TOMLDecodeError, text: str) -> Problem:
    # Python 3.11 gives the position only in the text of the error.
    message = str(error)
    place = _PLACE.search(message)
    line = int(place[1]) if place is not None and place[1] else len(text.splitlines())
    message = message[: place.start()] if place is not None else message
    return Problem("", f"invalid TOML: {message[:1].lower()}{message[1:]}", line)
