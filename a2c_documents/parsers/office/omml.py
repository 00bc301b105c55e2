"""Equations of Office (OMML) as one line that reads like LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from a2c_documents.parsers.office.latex import (
    FUNCTIONS,
    MAX_EXPRESSION,
    accent,
    grouped,
    join,
    letters,
    named,
    scripted,
)
from a2c_documents.parsers.office.ooxml import child, is_on, own_text, tag, value

_Parts = list[tuple[str, str]]


def linear(equation: Any) -> str:
    """An equation of Office in one line."""
    said: dict[Any, str] = {}
    # Children come before their parents in the reversed order: no recursion, however deep the equation is.
    for node in reversed(list(equation.iter())):
        name = tag(node)
        if name == "m:t" or name == "w:t":
            said[node] = letters(own_text(node))
        elif name.startswith(("m:", "w:")) and not name.endswith("Pr") and name not in ("w:del", "w:moveFrom"):
            parts = [(tag(part), said.pop(part)) for part in node if part in said]
            said[node] = _SHAPES.get(name, _plain)(node, parts)[:MAX_EXPRESSION]
    return " ".join(said.get(equation, "").split())


# --------------------------------------------------------------------------------------------------------------- shapes


def _get(parts: _Parts, name: str) -> str:
    return next((words for part, words in parts if part == name), "").strip()


def _plain(node: Any, parts: _Parts) -> str:
    return join(words for _, words in parts)


def _run(node: Any, parts: _Parts) -> str:
    words = _plain(node, parts)
    return f"\\text{{{words}}}" if is_on(node, "m:rPr", "m:nor") and words.strip() else words


def _fraction(node: Any, parts: _Parts) -> str:
    top, bottom = _get(parts, "m:num"), _get(parts, "m:den")
    kind = value(node, "m:fPr", "m:type")
    if kind in ("lin", "skw"):
        return f"{grouped(top)}/{grouped(bottom)}"
    return f"{{{top} \\atop {bottom}}}" if kind == "noBar" else f"\\frac{{{top}}}{{{bottom}}}"


def _scripts(node: Any, parts: _Parts) -> str:
    below, above, base = _get(parts, "m:sub"), _get(parts, "m:sup"), _get(parts, "m:e")
    return scripted("", below, above) + base if tag(node) == "m:sPre" else scripted(base, below, above)


def _root(node: Any, parts: _Parts) -> str:
    degree = "" if is_on(node, "m:radPr", "m:degHide") else _get(parts, "m:deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{_get(parts, 'm:e')}}}"


def _big(node: Any, parts: _Parts) -> str:
    """A sum, an integral …"""
    sign = value(node, "m:naryPr", "m:chr") or "∫"
    below, above = _get(parts, "m:sub"), _get(parts, "m:sup")
    bounds = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{letters(sign)}{bounds} {_get(parts, 'm:e')}"


def _fence(node: Any, parts: _Parts) -> str:
    shape = child(node, "m:dPr")
    start, middle, end = (
        value(shape, name) if child(shape, name) is not None else usual
        for name, usual in (("m:begChr", "("), ("m:sepChr", "|"), ("m:endChr", ")"))
    )
    inner = letters(middle).join(words.strip() for name, words in parts if name == "m:e")
    return join((letters(start), inner, letters(end)))


def _function(node: Any, parts: _Parts) -> str:
    name, argument = _get(parts, "m:fName"), _get(parts, "m:e")
    return f"{named(name)} {argument}" if argument[:1].isalnum() or argument[:1] == "\\" else named(name) + argument


def _limit(node: Any, parts: _Parts) -> str:
    base, limit = _get(parts, "m:e"), _get(parts, "m:lim")
    mark = "_" if tag(node) == "m:limLow" else "^"
    return f"{named(base) if base in FUNCTIONS else grouped(base)}{mark}{{{limit}}}"


def _accent(node: Any, parts: _Parts) -> str:
    return accent(value(node, "m:accPr", "m:chr") or "\u0302", _get(parts, "m:e"))


def _bar(node: Any, parts: _Parts) -> str:
    return f"\\{'overline' if value(node, 'm:barPr', 'm:pos') == 'top' else 'underline'}{{{_get(parts, 'm:e')}}}"


def _brace(node: Any, parts: _Parts) -> str:
    return accent(value(node, "m:groupChrPr", "m:chr") or "⏟", _get(parts, "m:e"))


def _row(node: Any, parts: _Parts) -> str:
    return " & ".join(words.strip() for name, words in parts if name == "m:e")


def _matrix(node: Any, parts: _Parts) -> str:
    rows = " \\\\ ".join(words for name, words in parts if name == "m:mr")
    return f"\\begin{{matrix}} {rows} \\end{{matrix}}"


def _lines(node: Any, parts: _Parts) -> str:
    rows = [words.strip() for name, words in parts if name == "m:e"]
    return "\\begin{aligned} " + " \\\\ ".join(rows) + " \\end{aligned}" if len(rows) > 1 else "".join(rows)


def _boxed(node: Any, parts: _Parts) -> str:
    return f"\\boxed{{{_get(parts, 'm:e')}}}"


_SHAPES: dict[str, Callable[[Any, _Parts], str]] = {
    "m:r": _run, "m:f": _fraction, "m:sSup": _scripts, "m:sSub": _scripts, "m:sSubSup": _scripts, "m:sPre": _scripts,
    "m:rad": _root, "m:nary": _big, "m:d": _fence, "m:func": _function, "m:limLow": _limit, "m:limUpp": _limit,
    "m:acc": _accent, "m:bar": _bar, "m:groupChr": _brace, "m:mr": _row, "m:m": _matrix, "m:eqArr": _lines,
    "m:borderBox": _boxed,
}  # fmt: skip
