"""Cell addresses and formulas of OpenDocument, converted to the usual notation."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"""("(?:[^"]|"")*")|\[([^\]]*)\]|([;|{}])""")


def reference_of(address: str) -> str:
    """`$Plan.$A$1:$Plan.$B$2` or `.A1:.B2` as `Plan!$A$1:$B$2` or `A1:B2`."""
    first, *rest = (end.rpartition(".") for end in address.split(":"))
    # The sheet of the second cell is repeated, or left out with its dot kept. It is only shown where the range spans
    # sheets.
    sheet = first[0].lstrip("$")
    ends = [first[2], *(cell if name.lstrip("$") in ("", sheet) else _named(name, cell) for name, _, cell in rest)]
    return _named(sheet, ":".join(ends))


def _named(sheet: str, cells: str) -> str:
    return f"{sheet.lstrip('$')}!{cells}" if sheet else cells


def formula_of(words: str) -> str:
    """`of:=SUM([.A1:.A3];2)` as `=SUM(A1:A3,2)`."""
    # The prefix names the language of the formula: `of:` is OpenFormula, `oooc:` its predecessor.
    _, equals, rule = words.partition("=")
    if not equals:
        return words
    in_list = False

    def simple(match: re.Match[str]) -> str:
        nonlocal in_list
        if match[1] is not None:
            return match[1]
        if match[2] is not None:
            return reference_of(match[2])
        in_list = match[3] == "{" or (in_list and match[3] != "}")
        # OpenDocument separates the columns of an array by semicolons and its rows by bars.
        return {";": ",", "|": ";" if in_list else "|"}.get(match[3], match[3])

    return f"={_TOKEN.sub(simple, rule)}"
