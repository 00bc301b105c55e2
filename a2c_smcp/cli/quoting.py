"""Words of MCP servers on a terminal, with a bar before each line: none can pass for a line of this program."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from typing import TextIO

from a2c_smcp.utils.text import printable

BAR = "| "
INDENT = "  "
MAX_SHOWN = 4_000
"""Characters of a text."""
MAX_LINES = 60
"""Lines of a text. More would push what this program says about it off the screen."""
_USUAL_WIDTH = 80
_NARROWEST = 10
"""Columns that a text gets at least after other words; with less, it begins in the next line."""


def quoted(
    text: str,
    limit: int = MAX_SHOWN,
    *,
    after: str = "",
    indent: str = INDENT,
    most: int = MAX_LINES,
    width: int | None = None,
) -> list[str]:
    """The lines of a text with a bar before each, at most so many. The first follows on `after`, which is of this
    program.

    `width` is that of the terminal (`width_of`): a line that the terminal itself wraps would go on without a bar.
    """
    # One column less than there are: some terminals wrap a line as soon as the last one is written.
    room = None if width is None else width - 1
    lines: list[str] = []
    head = after or indent
    if room is not None and room - _columns(head) - len(BAR) < _NARROWEST:
        lines, head = [after.rstrip()] if after else [], indent
    first, others = _columns(head) + len(BAR), len(indent) + len(BAR)
    for line in _lines(printable(text, limit).replace("\t", "    "), room, first, others):
        if len(lines) == most:
            lines.append(f"{indent}{BAR}…")
            break
        lines.append(f"{head}{BAR}{line}")
        head = indent
    return lines


def width_of(stream: TextIO) -> int | None:
    """The columns of the terminal that a stream leads to; None for a file or a pipe."""
    if not stream.isatty():
        return None
    try:
        # Not the environment variable COLUMNS, which `shutil.get_terminal_size` prefers: it may be wrong.
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH


def _lines(text: str, room: int | None, taken: int, others: int) -> Iterator[str]:
    """The lines of a text, wrapped to a width of which the first line has `taken` columns less, and the others
    `others`."""
    for line in text.split("\n"):
        if room is None:
            yield line
            continue
        while True:
            end = _fitting(line, room - taken)
            taken = others
            yield line[:end].rstrip() if end < len(line) else line
            line = line[end:]
            if not line:
                break


def _fitting(line: str, room: int) -> int:
    """The number of characters of a line that fit, if possible up to the end of a word."""
    columns = space = 0
    for place, character in enumerate(line):
        columns += _columns(character)
        if columns > room:
            return space if space > place // 2 else max(place, 1)
        if character == " ":
            space = place + 1
    return len(line)


def _columns(text: str) -> int:
    """The columns that a text takes at most."""
    # Terminals disagree about some characters ("ambiguous" in Unicode), and about those that are combined with others.
    # The larger number counts: a line that is too short does no harm.
    return sum(2 if unicodedata.east_asian_width(character) in "WFA" else 1 for character in text)
