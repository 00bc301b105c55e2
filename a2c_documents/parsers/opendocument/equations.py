"""OpenDocument formulas (MathML) as one line of LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from a2c_documents.parsers.office.equations import MAX_EXPRESSION, accent, join, letters, named, scripted
from a2c_documents.parsers.office.xml import Node, attribute, local

_Parts = list[str]


def latex_of(formula: Node) -> str:
    """A formula as one line of LaTeX."""
    said: dict[Node, str] = {}
    # In reversed document order, children come before their parents. So the walk needs no recursion, however deep the
    # formula is.
    for node in reversed(list(formula.iter())):
        name = local(node)
        # The annotation repeats the formula in StarMath, the language that LibreOffice edits. An empty script must keep
        # its place, because `msubsup` and others know their parts by position.
        if not name or name in ("annotation", "annotation-xml", "mspace", "none", "mprescripts"):
            if name in ("none", "mspace"):
                said[node] = ""
            continue
        if name in ("mi", "mn", "mo", "ms", "mtext"):
            words = letters((node.text or "").strip())
            # Only an identifier can be the name of a function: “sin” is a function in `mi` and a word in `mtext`.
            said[node] = f"\\text{{{words}}}" if name == "mtext" and words else named(words) if name == "mi" else words
            continue
        parts = [said.pop(part) for part in node if part in said]
        said[node] = _SHAPES.get(name, _plain)(node, parts)[:MAX_EXPRESSION]
    return " ".join(said.get(formula, "").split())


def _get(parts: _Parts, index: int) -> str:
    return parts[index].strip() if index < len(parts) else ""


def _plain(node: Node, parts: _Parts) -> str:
    return join(parts)


def _fraction(node: Node, parts: _Parts) -> str:
    return f"\\frac{{{_get(parts, 0)}}}{{{_get(parts, 1)}}}"


def _above(node: Node, parts: _Parts) -> str:
    return scripted(_get(parts, 0), "", _get(parts, 1))


def _below(node: Node, parts: _Parts) -> str:
    return scripted(_get(parts, 0), _get(parts, 1), "")


def _both(node: Node, parts: _Parts) -> str:
    return scripted(_get(parts, 0), _get(parts, 1), _get(parts, 2))


def _over(node: Node, parts: _Parts) -> str:
    """An accent or brace, or an expression above the base."""
    return _accented(node, parts) or _above(node, parts)


def _under(node: Node, parts: _Parts) -> str:
    """A brace or line, or an expression below the base."""
    return _accented(node, parts) or _below(node, parts)


def _accented(node: Node, parts: _Parts) -> str:
    # MathML writes an accent and a limit with the same element. A single sign as an operator is an accent.
    sign = (node[1].text or "").strip() if len(node) > 1 and local(node[1]) == "mo" else ""
    return accent(sign, _get(parts, 0)) if len(sign) == 1 else ""


def _square_root(node: Node, parts: _Parts) -> str:
    return f"\\sqrt{{{join(parts)}}}"


def _root(node: Node, parts: _Parts) -> str:
    return f"\\sqrt[{_get(parts, 1)}]{{{_get(parts, 0)}}}"


def _fence(node: Node, parts: _Parts) -> str:
    return letters(attribute(node, "open", "(")) + ", ".join(parts) + letters(attribute(node, "close", ")"))


def _row(node: Node, parts: _Parts) -> str:
    return " & ".join(part.strip() for part in parts)


def _table(node: Node, parts: _Parts) -> str:
    if len(parts) == 1 and " & " not in parts[0]:
        # A single row is not a matrix: programs put equations into tables to align them.
        return parts[0]
    return "\\begin{matrix} " + " \\\\ ".join(parts) + " \\end{matrix}"


_SHAPES: dict[str, Callable[[Node, _Parts], str]] = {
    "mfrac": _fraction, "msup": _above, "msub": _below, "msubsup": _both, "munderover": _both, "munder": _under,
    "mover": _over, "msqrt": _square_root, "mroot": _root, "mfenced": _fence, "mtr": _row, "mtable": _table,
}  # fmt: skip
