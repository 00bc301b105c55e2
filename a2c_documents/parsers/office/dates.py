"""Numbers that are dates and times, as their format shows them. Days are always ISO dates, months are as people write
them: "Jan 2026" is no day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby

_SHORT_YEAR = 2
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def dated(
    value: float, letters: str, parts: Iterable[tuple[str, str]], *, elapsed: bool = False, from_1904: bool = False
) -> str:
    """A day's number in a format, by its letters (`mmmyyyy`) and its parts; nothing, if it is no such number."""
    known = set(letters)
    clock = bool(known & {"h", "s"}) or elapsed
    day = bool(known & {"y", "d", "e", "g"}) or ("m" in known and not clock)
    if elapsed:
        return _elapsed(value, "s" in known)
    moment = _moment_of(value, from_1904)
    if moment is None:
        return ""
    if clock and not day:
        return _clock(moment, "s" in known)
    if known <= {"y", "m"}:
        return _month(moment, parts)
    date = "1900-02-29" if not from_1904 and 60 <= value < 61 else moment.date().isoformat()
    return f"{date} {_clock(moment, 's' in known)}" if clock else date


def _month(moment: datetime, parts: Iterable[tuple[str, str]]) -> str:
    """A month or a year without its day: "Jan 2026", "01/26". Names are English, whatever the language of the file."""
    words = ((kind, part) for kind, part in parts if kind != "at")
    return "".join(_month_part(moment, part) if kind == "date" else part for kind, part in words).strip()


def _month_part(moment: datetime, letters: str) -> str:
    shown_parts: list[str] = []
    for letter, run in groupby(letters):
        size = len(list(run))
        if letter == "y":
            shown_parts.append(f"{moment.year:04}" if size > _SHORT_YEAR else f"{moment.year % 100:02}")
        elif size > len("mm"):
            name = _MONTHS[moment.month - 1]
            shown_parts.append({3: name[:3], 5: name[:1]}.get(size, name))
        else:
            shown_parts.append(f"{moment.month:0{size}}")
    return "".join(shown_parts)


def _clock(moment: datetime, seconds: bool) -> str:
    return moment.strftime("%H:%M:%S" if seconds or moment.second else "%H:%M")


def _elapsed(value: float, seconds: bool) -> str:
    total = round(abs(value) * 86_400)
    sign = "-" if value < 0 and total else ""
    hours, rest = divmod(total, 3_600)
    return f"{sign}{hours}:{rest // 60:02}:{rest % 60:02}" if seconds or rest % 60 else f"{sign}{hours}:{rest // 60:02}"


def _moment_of(value: float, from_1904: bool) -> datetime | None:
    """The date and time of a day's number. 1900 had a 29 February for Excel: days before it are one off."""
    if not 0 <= value < 2_958_466:
        return None
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30 if value >= 60 else 31)
    try:
        return start + timedelta(seconds=round(value * 86_400))
    except OverflowError:
        return None
