"""Number formats: a number as its cell shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import groupby

# Built-in dates look different in each country: 14 is 3/14/2026 for one user and 14.03.2026 for another, and 27 to 36
# and 50 to 58 are East Asian. The ISO form means the same day to every reader.
BUILT_IN: dict[int, str] = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '"$"#,##0', 6: '"$"#,##0', 7: '"$"#,##0.00', 8: '"$"#,##0.00',
    9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "yyyy-mm-dd",
    16: "yyyy-mm-dd", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    27: "yyyy-mm-dd", 28: "yyyy-mm-dd", 29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm", 33: "h:mm:ss",
    34: "h:mm", 35: "h:mm:ss", 36: "yyyy-mm-dd", 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)", 41: "#,##0", 42: '"$"#,##0', 43: "#,##0.00", 44: '"$"#,##0.00', 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss", 48: "##0.0E+0", 49: "@", 50: "yyyy-mm-dd", 51: "yyyy-mm-dd", 52: "yyyy-mm-dd",
    53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 55: "yyyy-mm-dd", 56: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}  # fmt: skip
"""Formats that files refer to by number only."""

# The order of the alternatives matters: quoted and escaped characters must not be read as codes.
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]|(?P<general>[Gg]eneral)'
    r"|(?P<ampm>AM/PM|A/P|am/pm|a/p)|(?P<exponent>[Ee][+-])|(?P<date>[ymdhsYMDHSeg]+)|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[0-9.]+)$")
_MAX_CODE, _WITH_TEXT = 500, 4
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b,
}  # fmt: skip


class _Section:
    """One section of a format, between semicolons, split into parts."""

    def __init__(self, code: str) -> None:
        self.condition: tuple[str, float] | None = None
        self.parts: list[tuple[str, str]] = []
        """The parts: ("text", "$"), ("digit", "0"), ("point", ".") …"""
        self.dates = ""
        self.elapsed = ""
        """The largest unit of a duration, `h`, `m` or `s`."""
        self.general = False
        self.percent = 0
        for match in _TOKEN.finditer(code):
            self._take(match)
        kinds = [kind for kind, _ in self.parts]
        self.exponent = "exponent" in kinds and "digit" in kinds
        self.fraction = "slash" in kinds and "digit" in kinds
        # A comma between digits groups thousands, a comma after the last digit divides by a thousand. Which of them it
        # is shows only when all tokens are read.
        self.thousands, self.scale = self._commas()

    def _take(self, match: re.Match[str]) -> None:
        # The two tokens without a group are about width: `_)` leaves room for a character and `*-` fills the cell. A
        # space stands for both; at the ends, it is stripped with the others.
        kind, words = match.lastgroup, match[match.lastgroup] if match.lastgroup else " "
        if kind == "bracket":
            self._bracket(words)
        elif kind == "general":
            self.general = True
            self.parts.append(("general", ""))
        elif kind in ("date", "ampm"):
            self.dates += "h" if kind == "ampm" else words.lower()
            self.parts.append(("date", words.lower()))
        elif kind in ("digit", "exponent"):
            self.parts.append((kind, words))
        elif kind == "other" and words in ".,/@%":
            self.percent += words == "%"
            self.parts.append(({".": "point", ",": "comma", "/": "slash", "@": "at", "%": "text"}[words], words))
        else:
            self.parts.append(("text", words))

    def _bracket(self, words: str) -> None:
        condition = _CONDITION.match(words)
        if words.startswith("$"):
            # `[$€-407]` is a currency with the country whose rules apply. Colours such as `[Red]` fall through and are
            # left out.
            self.parts.append(("text", words[1:].partition("-")[0]))
        elif words and not words.lower().strip("hms"):
            self.elapsed = self.elapsed or words[0].lower()
            self.dates += words.lower()
        elif condition is not None:
            try:
                self.condition = condition[1], float(condition[2])
            except ValueError:
                self.condition = None

    def _commas(self) -> tuple[bool, int]:
        """Commas between digits group thousands; each comma after the last digit divides by a thousand."""
        digits = [place for place, (kind, _) in enumerate(self.parts) if kind == "digit"]
        commas = [place for place, (kind, _) in enumerate(self.parts) if kind == "comma"]
        if not digits:
            return False, 0
        point = next((place for place, (kind, _) in enumerate(self.parts) if kind == "point"), len(self.parts))
        whole = [place for place in digits if place < point] or digits
        inside = any(digits[0] < place < whole[-1] for place in commas)
        return inside, sum(place > whole[-1] for place in commas)

    def holds(self, value: float) -> bool:
        return self.condition is None or _TESTS[self.condition[0]](value, self.condition[1])


# A workbook has few formats and many cells: parsing a format takes longer than applying it.
@lru_cache(maxsize=2_000)
def _sections(code: str) -> tuple[_Section, ...]:
    """The sections of a format, split at semicolons outside quotes."""
    parts, start, quoted = list[str](), 0, False
    for place, letter in enumerate(code[:_MAX_CODE]):
        if letter == '"':
            quoted = not quoted
        elif letter == ";" and not quoted and code[place - 1 : place] != "\\":
            parts.append(code[start:place])
            start = place + 1
    return tuple(_Section(part) for part in [*parts, code[start:_MAX_CODE]][:_WITH_TEXT])


def shown(value: float, code: str = "", *, from_1904: bool = False) -> tuple[str, bool]:
    """The text of a number, and whether it is a date or a time."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value), False
    if not code or code == "General":
        return plain(value), False
    sections = _sections(code)
    section, signed = _chosen(sections, value)
    if section.dates:
        seen = dated(value, section.dates, section.parts, elapsed=section.elapsed, from_1904=from_1904)
        return (seen, True) if seen else (plain(value), False)
    return _number(value if signed else abs(value), section).strip(), False


def shown_text(words: str, code: str) -> str:
    """A text in its format: only a fourth section changes it."""
    sections = _sections(code)
    if len(sections) < _WITH_TEXT:
        return words
    return "".join(words if kind == "at" else part for kind, part in sections[3].parts)


def _chosen(sections: tuple[_Section, ...], value: float) -> tuple[_Section, bool]:
    """The section for a value, and whether the sign is still to be shown."""
    usual = sections[0]
    if any(section.condition for section in sections):
        found = next((section for section in sections[:3] if section.holds(value)), usual)
        return found, True
    # The sections are for positive numbers, negative numbers, zero and texts. The one for negative numbers brings its
    # own sign, often parentheses.
    if value < 0 and len(sections) > 1:
        return sections[1], False
    if value == 0 and len(sections) > 2:
        return sections[2], True
    return usual, True


def plain(value: float) -> str:
    """A number without a format: no ".0", and no noise in the last digits."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    # Ten digits hide the noise of binary fractions: 0.1 + 0.2 is 0.3, as a cell shows it.
    return format(value, ".10g").replace("e", "E")


# -------------------------------------------------------------------------------------------------------------- numbers


def _number(value: float, section: _Section) -> str:
    if section.general or not any(kind == "digit" for kind, _ in section.parts):
        value_words = plain(value) if section.general or any(kind == "at" for kind, _ in section.parts) else ""
        words = "".join(value_words if kind in ("general", "at") else part for kind, part in section.parts)
        return words if words.strip() or value_words else plain(value) if not section.parts else words
    sign = "-" if value < 0 else ""
    size = abs(value) * 100**section.percent / 1_000**section.scale
    if section.fraction:
        return sign + _fraction(size, section)
    digits = [place for place, (kind, _) in enumerate(section.parts) if kind in ("digit", "point", "exponent")]
    # Text between digits is part of the pattern, as in 000-00-0000; text around them is a unit or a sign.
    first, last = digits[0], digits[-1]
    before = "".join(words for kind, words in section.parts[:first] if kind == "text")
    after = "".join(words for kind, words in section.parts[last + 1 :] if kind == "text")
    middle = section.parts[first : last + 1]
    if any(kind == "text" and words.strip() for kind, words in middle) and not section.exponent:
        return sign + before + _pattern(size, middle) + after
    shown_digits = _scientific(size, middle) if section.exponent else _decimal(size, middle, section.thousands)
    # A negative number that is rounded to zero is shown without its sign.
    if not shown_digits.strip("0.,"):
        sign = "" if section.exponent or not shown_digits.strip(".,") or value == 0 else sign.strip("-")
    return sign + before + shown_digits + after


def _decimal(size: float, parts: list[tuple[str, str]], thousands: bool) -> str:
    kinds = [kind for kind, _ in parts]
    point = kinds.index("point") if "point" in kinds else len(parts)
    whole = [words for kind, words in parts[:point] if kind == "digit"]
    places = [words for kind, words in parts[point:] if kind == "digit"]
    try:
        exact = _rounded(Decimal(repr(size)), len(places))
    except InvalidOperation:
        return plain(size)
    number, _, decimals = f"{exact:f}".partition(".")
    decimals = decimals.rstrip("0").ljust(len("".join(places).rstrip("#?")), "0")
    # `#` shows a digit only if there is one, `0` always: "#.00" shows .50 where "0.00" shows 0.50.
    number = number.lstrip("0").rjust(sum(letter == "0" for letter in whole), "0")
    if thousands and number:
        number = f"{int(number):,}".rjust(len(number), "0")
    return f"{number}.{decimals}" if decimals else number


def _scientific(size: float, parts: list[tuple[str, str]]) -> str:
    cut = next(place for place, (kind, _) in enumerate(parts) if kind == "exponent")
    point = next((place for place, (kind, _) in enumerate(parts[:cut]) if kind == "point"), cut)
    places = sum(kind == "digit" for kind, _ in parts[point:cut])
    whole = [words for kind, words in parts[:point] if kind == "digit"]
    # The power is a multiple of the digits before the point: "##0.0E+0" shows 12345 as 12.3E+3.
    step = max(1, len(whole))
    exact = Decimal(repr(size))
    power = exact.adjusted() // step * step if exact else 0
    try:
        mantissa = _rounded(exact.scaleb(-power), places)
        if mantissa >= 10**step:
            # Rounding has added a digit: 999.96 is 1.0E+3.
            power += step
            mantissa = _rounded(exact.scaleb(-power), places)
    except InvalidOperation:
        return plain(size)
    width = sum(words == "0" for kind, words in parts[cut:] if kind == "digit")
    plus = "-" if power < 0 else "+" if parts[cut][1].endswith("+") else ""
    number, dot, decimals = f"{mantissa:f}".partition(".")
    return f"{number.rjust(whole.count('0'), '0')}{dot}{decimals}E{plus}{str(abs(power) or '').rjust(width, '0')}"


def _rounded(exact: Decimal, places: int) -> Decimal:
    # Excel rounds the decimal digits half up, 0.125 to 0.13. `format` rounds the binary value half to even and gives
    # 0.12.
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _fraction(size: float, section: _Section) -> str:
    slash = next(place for place, (kind, _) in enumerate(section.parts) if kind == "slash")
    below = [words for kind, words in section.parts[slash + 1 :] if kind in ("digit", "text")]
    fixed = "".join(below).strip()
    whole = int(size) if sum(kind == "digit" for kind, _ in section.parts[:slash]) > 1 else 0
    if fixed.isdigit() and int(fixed):
        above, under = round((size - whole) * int(fixed)), int(fixed)
    else:
        rest = Fraction(size - whole).limit_denominator(10 ** max(1, min(4, len(fixed))) - 1)
        above, under = rest.numerator, rest.denominator
    # Rounding can fill the fraction: 0.99 in quarters is 4/4.
    if above and above == under:
        whole, above = whole + 1, 0
    parts = [str(whole)] if whole or not above else []
    return " ".join([*parts, f"{above}/{under}"] if above else parts)


def _pattern(size: float, parts: list[tuple[str, str]]) -> str:
    """Digits inserted into a pattern such as 000-00-0000, from the right."""
    left = str(int(Decimal(repr(size)).quantize(Decimal(1), ROUND_HALF_UP)))
    found: list[str] = []
    first = next(place for place, (kind, _) in enumerate(parts) if kind == "digit")
    for place in range(len(parts) - 1, -1, -1):
        kind, words = parts[place]
        if kind == "text":
            found.append(words)
        elif kind == "digit":
            found.append(left if place == first else left[-1:] or ("0" if words == "0" else ""))
            left = "" if place == first else left[:-1]
    return "".join(reversed(found))


# ---------------------------------------------------------------------------------------------------------------- dates


_SHORT_YEAR = 2
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def dated(
    value: float, letters: str, parts: Iterable[tuple[str, str]], *, elapsed: str = "", from_1904: bool = False
) -> str:
    """The number of a day in a format, given by its letters (`mmmyyyy`) and its parts; empty if it is not a date."""
    known = set(letters)
    clock = bool(known & {"h", "s"} or elapsed)
    day = bool(known & {"y", "d", "e", "g"}) or ("m" in known and not clock)
    if elapsed:
        return _elapsed(value, elapsed, "s" in known)
    moment = _moment_of(value, from_1904)
    if moment is None:
        return ""
    if clock and not day:
        return _clock(moment, "s" in known)
    # Dates are shown in ISO form instead of the format of the file. A format without a day is an exception: an invented
    # day would claim more than the cell shows.
    if known <= {"y", "m"}:
        return _month(moment, parts)
    # Day 60 does not exist, but Excel shows it: it took over the error of Lotus 1-2-3 that 1900 was a leap year.
    date = "1900-02-29" if not from_1904 and 60 <= value < 61 else moment.date().isoformat()
    return f"{date} {_clock(moment, 's' in known)}" if clock else date


def _month(moment: datetime, parts: Iterable[tuple[str, str]]) -> str:
    """A month or a year without its day: "Jan 2026", "01/26". Names are English in every file."""
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


def _elapsed(value: float, unit: str, seconds: bool) -> str:
    """A duration: the unit in brackets, such as `[mm]`, is not limited by a larger one."""
    total = round(abs(value) * 86_400)
    sign = "-" if value < 0 and total else ""
    if unit == "s":
        return f"{sign}{total}"
    minutes, rest = divmod(total, 60)
    shown_minutes = f"{minutes // 60}:{minutes % 60:02}" if unit == "h" else str(minutes)
    return f"{sign}{shown_minutes}:{rest:02}" if seconds or rest else f"{sign}{shown_minutes}"


def _moment_of(value: float, from_1904: bool) -> datetime | None:
    """The date and time of a day number."""
    # Day 2,958,465 is 9999-12-31, where Excel and `datetime` end. Counted from 1904, the last years overflow earlier.
    if not 0 <= value < 2_958_466:
        return None
    # For the same reason, days before the 60th count from one day later.
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30 if value >= 60 else 31)
    try:
        # A time is a fraction of a day that has no exact binary form. Without rounding, 8:00:00 can become 7:59:59.
        return start + timedelta(seconds=round(value * 86_400))
    except OverflowError:
        return None
