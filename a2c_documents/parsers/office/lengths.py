"""Lengths as files write them, in points, and in pixels of 1/96 inch."""

from __future__ import annotations

import re
from typing import Any

from a2c_documents.parsers.office.xml import number

_PIXEL = 9_525
"""English Metric Units, in which drawings measure."""
_POINTS = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "inch": 72.0, "pt": 1.0, "px": 0.75, "pc": 12.0}
_LENGTH = re.compile(r"(-?[\d.]{1,12})(cm|mm|inch|in|pt|px|pc)", re.IGNORECASE)


def points(length: str) -> float | None:
    """A length with its unit, "2.5cm"; None for what is none."""
    found = _LENGTH.fullmatch(length.strip())
    return number(found[1]) * _POINTS[found[2].lower()] if found else None


def pixels(length: str) -> int:
    """A length with its unit; 0 for what is none."""
    return round((points(length) or 0) * 96 / 72)


def drawn_pixels(units: Any) -> int:
    """A length in the units of drawings."""
    return round(number(units) / _PIXEL)
