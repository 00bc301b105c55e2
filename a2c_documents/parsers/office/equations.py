"""Equations as one line of LaTeX: the notation that all formats share, and the reader of Office equations (OMML)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from a2c_documents.parsers.office.ooxml import child, is_on, own_text, tag, value
from a2c_documents.parsers.office.xml import Node

MAX_EXPRESSION = 20_000
"""Limit for the characters of one equation."""

_GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
_SYMBOLS: dict[str, str] = {
    **{chr(0x3B1 + index): f"\\{name}" for index, name in enumerate(_GREEK)},
    **{
        chr(0x391 + index): f"\\{name.capitalize()}"
        for index, name in enumerate(_GREEK)
        if name in ("gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega")
    },
    "ϵ": "\\epsilon", "ε": "\\varepsilon", "ϑ": "\\vartheta", "ϕ": "\\phi", "φ": "\\varphi", "ϖ": "\\varpi",
    "∑": "\\sum", "∏": "\\prod", "∐": "\\coprod", "∫": "\\int", "∬": "\\iint", "∭": "\\iiint", "∮": "\\oint",
    "⋃": "\\bigcup", "⋂": "\\bigcap", "∞": "\\infty", "∂": "\\partial", "∇": "\\nabla", "√": "\\sqrt",
    "±": "\\pm", "∓": "\\mp", "×": "\\times", "÷": "\\div", "⋅": "\\cdot", "∙": "\\cdot", "·": "\\cdot", "∗": "*",
    "≤": "\\leq", "≥": "\\geq", "≠": "\\neq", "≈": "\\approx", "≡": "\\equiv", "∼": "\\sim", "≅": "\\cong",
    "∝": "\\propto", "≪": "\\ll", "≫": "\\gg", "→": "\\to", "←": "\\leftarrow", "↔": "\\leftrightarrow",
    "⇒": "\\Rightarrow", "⇐": "\\Leftarrow", "⇔": "\\Leftrightarrow", "↦": "\\mapsto", "∈": "\\in", "∉": "\\notin",
    "∋": "\\ni", "⊂": "\\subset", "⊆": "\\subseteq", "⊃": "\\supset", "⊇": "\\supseteq", "∪": "\\cup", "∩": "\\cap",
    "∅": "\\emptyset", "∀": "\\forall", "∃": "\\exists", "¬": "\\neg", "∧": "\\land", "∨": "\\lor", "⊕": "\\oplus",
    "⊗": "\\otimes", "⊥": "\\perp", "∥": "\\parallel", "∠": "\\angle", "°": "^{\\circ}", "…": "\\ldots",
    "⋯": "\\cdots", "⋮": "\\vdots", "⋱": "\\ddots", "ℏ": "\\hbar", "ℓ": "\\ell", "′": "'", "−": "-", "‖": "\\|",
    "⟨": "\\langle", "⟩": "\\rangle", "〈": "\\langle", "〉": "\\rangle", "⌊": "\\lfloor", "⌋": "\\rfloor",
    # U+2061 to U+2063 are invisible: they mark a function call, a product and a list. LaTeX has no such signs.
    "⌈": "\\lceil", "⌉": "\\rceil", "{": "\\{", "}": "\\}", "\u2061": "", "\u2062": "", "\u2063": "", "\xa0": " ",
    "❑": "",  # Office shows this sign where an operand is missing
}  # fmt: skip
_ACCENTS = {
    "\u0302": "hat", "^": "hat", "\u0303": "tilde", "~": "tilde", "\u0305": "overline", "\u0304": "bar", "¯": "bar",
    "\u0307": "dot", "\u0308": "ddot", "\u20db": "dddot", "\u20d7": "vec", "→": "vec", "\u20d6": "overleftarrow",
    "\u030c": "check", "\u0306": "breve", "\u0301": "acute", "\u0300": "grave", "⏞": "overbrace", "⏟": "underbrace",
    "_": "underline", "―": "overline", "‾": "overline", "ˆ": "hat", "˜": "tilde", "˙": "dot", "¨": "ddot",
}  # fmt: skip
FUNCTIONS = (
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "inf",
    "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "Pr", "sec", "sin", "sinh", "sup", "tan", "tanh",
)  # fmt: skip
_COMMAND_AT_END = re.compile(r"\\[A-Za-z]+\Z")


def letters(words: str) -> str:
    """Letters and signs of an equation as LaTeX."""
    return join(_SYMBOLS.get(sign, sign) for sign in _unstyled(words))


def join(parts: Iterable[str]) -> str:
    r"""Parts of an equation side by side; a letter after `\\pi` needs a space."""
    result: list[str] = []
    last = ""
    for part in parts:
        if not part:
            continue
        # The last 40 characters are enough for any command, and keep the search short for long parts.
        if part[0].isalpha() and _COMMAND_AT_END.search(last[-40:]):
            result.append(" ")
        result.append(part)
        last = part
    return "".join(result)


def grouped(words: str) -> str:
    """The base of a power: in braces unless it is a single sign."""
    # Without braces, `ab^2` would raise only the b.
    return words if len(words) == 1 or re.fullmatch(r"\\[A-Za-z]+", words) else f"{{{words}}}"


def scripted(base: str, below: str, above: str) -> str:
    """A base with its subscript and superscript, where it has them."""
    return grouped(base) + (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def named(words: str) -> str:
    """The name of a function."""
    return f"\\{words}" if words in FUNCTIONS else words


def accent(sign: str, words: str) -> str:
    """An expression with an accent above or below it."""
    return f"\\{_ACCENTS[sign]}{{{words}}}" if sign in _ACCENTS else f"\\overset{{{letters(sign)}}}{{{words}}}"


def _unstyled(words: str) -> str:
    """Replace italic and bold mathematical letters by plain letters."""
    # Word stores the variable x as U+1D465. As LaTeX and in a search, it is the letter x; the normalization is kept to
    # this block, because it would also turn ² into 2.
    if words.isascii():
        return words
    styled = ("\U0001d400", "\U0001d7ff")
    return "".join(unicodedata.normalize("NFKC", sign) if styled[0] <= sign <= styled[1] else sign for sign in words)


# ----------------------------------------------------------------------------------------------------------------- OMML


_Parts = list[tuple[str, str]]


def latex_of(equation: Node) -> str:
    """An Office equation as one line of LaTeX."""
    said: dict[Node, str] = {}
    # In reversed document order, children come before their parents. So the walk needs no recursion, however deep the
    # equation is.
    for node in reversed(list(equation.iter())):
        name = tag(node)
        if name == "m:t" or name == "w:t":
            said[node] = letters(own_text(node))
        elif name.startswith(("m:", "w:")) and not name.endswith("Pr") and name not in ("w:del", "w:moveFrom"):
            parts = [(tag(part), said.pop(part)) for part in node if part in said]
            # Parts are removed when their parent takes them, so that the memory for a deep equation stays small.
            said[node] = _SHAPES.get(name, _plain)(node, parts)[:MAX_EXPRESSION]
    return " ".join(said.get(equation, "").split())


# --------------------------------------------------------------------------------------------------------------- shapes


def _get(parts: _Parts, name: str) -> str:
    return next((words for part, words in parts if part == name), "").strip()


def _plain(node: Node, parts: _Parts) -> str:
    return join(words for _, words in parts)


def _run(node: Node, parts: _Parts) -> str:
    words = _plain(node, parts)
    return f"\\text{{{words}}}" if is_on(node, "m:rPr", "m:nor") and words.strip() else words


def _fraction(node: Node, parts: _Parts) -> str:
    top, bottom = _get(parts, "m:num"), _get(parts, "m:den")
    kind = value(node, "m:fPr", "m:type")
    if kind in ("lin", "skw"):
        return f"{grouped(top)}/{grouped(bottom)}"
    return f"{{{top} \\atop {bottom}}}" if kind == "noBar" else f"\\frac{{{top}}}{{{bottom}}}"


def _scripts(node: Node, parts: _Parts) -> str:
    below, above, base = _get(parts, "m:sub"), _get(parts, "m:sup"), _get(parts, "m:e")
    return scripted("", below, above) + base if tag(node) == "m:sPre" else scripted(base, below, above)


def _root(node: Node, parts: _Parts) -> str:
    # Word writes a degree for a square root as well, and hides it with this switch.
    degree = "" if is_on(node, "m:radPr", "m:degHide") else _get(parts, "m:deg")
    return f"\\sqrt{f'[{degree}]' if degree else ''}{{{_get(parts, 'm:e')}}}"


def _big(node: Node, parts: _Parts) -> str:
    """A large operator, such as a sum or an integral."""
    # Word omits the sign of an integral, which is the default.
    sign = value(node, "m:naryPr", "m:chr") or "∫"
    below, above = _get(parts, "m:sub"), _get(parts, "m:sup")
    bounds = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{letters(sign)}{bounds} {_get(parts, 'm:e')}"


def _fence(node: Node, parts: _Parts) -> str:
    shape = child(node, "m:dPr")
    # An absent sign is a parenthesis or bar by default; a sign that is present but empty is no sign, as on the open
    # side of a case distinction.
    start, middle, end = (
        value(shape, name) if child(shape, name) is not None else usual
        for name, usual in (("m:begChr", "("), ("m:sepChr", "|"), ("m:endChr", ")"))
    )
    inner = letters(middle).join(words.strip() for name, words in parts if name == "m:e")
    return join((letters(start), inner, letters(end)))


def _function(node: Node, parts: _Parts) -> str:
    name, argument = _get(parts, "m:fName"), _get(parts, "m:e")
    return f"{named(name)} {argument}" if argument[:1].isalnum() or argument[:1] == "\\" else named(name) + argument


def _limit(node: Node, parts: _Parts) -> str:
    base, limit = _get(parts, "m:e"), _get(parts, "m:lim")
    mark = "_" if tag(node) == "m:limLow" else "^"
    return f"{named(base) if base in FUNCTIONS else grouped(base)}{mark}{{{limit}}}"


def _accent(node: Node, parts: _Parts) -> str:
    return accent(value(node, "m:accPr", "m:chr") or "\u0302", _get(parts, "m:e"))


def _bar(node: Node, parts: _Parts) -> str:
    return f"\\{'overline' if value(node, 'm:barPr', 'm:pos') == 'top' else 'underline'}{{{_get(parts, 'm:e')}}}"


def _brace(node: Node, parts: _Parts) -> str:
    return accent(value(node, "m:groupChrPr", "m:chr") or "⏟", _get(parts, "m:e"))


def _row(node: Node, parts: _Parts) -> str:
    return " & ".join(words.strip() for name, words in parts if name == "m:e")


def _matrix(node: Node, parts: _Parts) -> str:
    rows = " \\\\ ".join(words for name, words in parts if name == "m:mr")
    return f"\\begin{{matrix}} {rows} \\end{{matrix}}"


def _lines(node: Node, parts: _Parts) -> str:
    rows = [words.strip() for name, words in parts if name == "m:e"]
    return "\\begin{aligned} " + " \\\\ ".join(rows) + " \\end{aligned}" if len(rows) > 1 else "".join(rows)


def _boxed(node: Node, parts: _Parts) -> str:
    return f"\\boxed{{{_get(parts, 'm:e')}}}"


_SHAPES: dict[str, Callable[[Node, _Parts], str]] = {
    "m:r": _run, "m:f": _fraction, "m:sSup": _scripts, "m:sSub": _scripts, "m:sSubSup": _scripts, "m:sPre": _scripts,
    "m:rad": _root, "m:nary": _big, "m:d": _fence, "m:func": _function, "m:limLow": _limit, "m:limUpp": _limit,
    "m:acc": _accent, "m:bar": _bar, "m:groupChr": _brace, "m:mr": _row, "m:m": _matrix, "m:eqArr": _lines,
    "m:borderBox": _boxed,
}  # fmt: skip
