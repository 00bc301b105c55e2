"""Equations as one line that reads like LaTeX: how their signs, names and parts are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_EXPRESSION = 20_000
"""Characters of one equation."""

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
    "⌈": "\\lceil", "⌉": "\\rceil", "{": "\\{", "}": "\\}", "\u2061": "", "\u2062": "", "\u2063": "", "\xa0": " ",
    "❑": "",  # stands in a formula where something is missing
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
    """Letters and signs of an equation."""
    return join(_SYMBOLS.get(sign, sign) for sign in _unstyled(words))


def join(parts: Iterable[str]) -> str:
    r"""Parts of an equation side by side; a letter after `\pi` needs a blank."""
    result: list[str] = []
    last = ""
    for part in parts:
        if not part:
            continue
        if part[0].isalpha() and _COMMAND_AT_END.search(last[-40:]):
            result.append(" ")
        result.append(part)
        last = part
    return "".join(result)


def grouped(words: str) -> str:
    """The base of a power: in braces, unless it is one sign."""
    return words if len(words) == 1 or re.fullmatch(r"\\[A-Za-z]+", words) else f"{{{words}}}"


def scripted(base: str, below: str, above: str) -> str:
    """A base with what stands at its foot and at its head, where there is any."""
    return grouped(base) + (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def named(words: str) -> str:
    """The name of a function."""
    return f"\\{words}" if words in FUNCTIONS else words


def accent(sign: str, words: str) -> str:
    """Something with an accent above or below it."""
    return f"\\{_ACCENTS[sign]}{{{words}}}" if sign in _ACCENTS else f"\\overset{{{letters(sign)}}}{{{words}}}"


def _unstyled(words: str) -> str:
    """Letters that are only italic or bold are letters."""
    if words.isascii():
        return words
    styled = ("\U0001d400", "\U0001d7ff")
    return "".join(unicodedata.normalize("NFKC", sign) if styled[0] <= sign <= styled[1] else sign for sign in words)
