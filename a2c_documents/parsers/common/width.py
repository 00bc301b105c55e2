"""How much room words take."""

from __future__ import annotations

from unicodedata import east_asian_width


def printed_width(words: str) -> int:
    """In columns of a terminal: Chinese letters take two each, and say as much in half as many."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in words)
