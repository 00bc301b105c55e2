"""Markdown's tokens: CommonMark with tables, strikethrough and formulas."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

MAX_NESTING = 60
_CLOSING = {"$$": "$$", "\\[": "\\]"}


@cache
def parser() -> Any:
    """The one parser; it keeps nothing between two texts."""
    markdown_it: Any = importlib.import_module("markdown_it")
    found: Any = markdown_it.MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    found.enable(["table", "strikethrough"])
    # Before everything else: what stands in a formula is neither a list nor emphasis.
    found.block.ruler.before(
        "fence", "formula", _formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    found.inline.ruler.before("escape", "formula", _formula_inline)
    return found


def _formula_block(state: Any, first: int, last: int, silent: bool) -> bool:
    """`$$ … $$` on lines of its own."""
    if state.is_code_block(first):
        return False
    words = _line(state, first)
    closing = _CLOSING.get(words[:2])
    if closing is None:
        return False
    lines = [words[2:]]
    line = first
    while not lines[-1].endswith(closing):
        line += 1
        if line >= last or state.sCount[line] < state.blkIndent:
            return False
        lines.append(_line(state, line))
    lines[-1] = lines[-1][:-2]
    expression = "\n".join(lines).strip()
    if not expression or closing in expression:
        return False
    if silent:
        return True
    state.line = line + 1
    token = state.push("formula", "", 0)
    token.content = expression
    token.map = [first, state.line]
    return True


def _formula_inline(state: Any, silent: bool) -> bool:
    """`$a_1$` is kept as it is written. Prices are no formulas: nothing may stand between a formula and its signs."""
    source, start = state.src, state.pos
    if source[start] != "$":
        return False
    mark = "$$" if source.startswith("$$", start) else "$"
    begin = start + len(mark)
    end = source.find(mark, begin, min(state.posMax, begin + 1_000))
    if end <= begin or source[begin].isspace() or source[end - 1].isspace() or "\n\n" in source[begin:end]:
        return False
    after = end + len(mark)
    if mark == "$" and source[after : after + 1].isdigit():
        return False
    if not silent:
        token = state.push("text", "", 0)
        token.content = source[start:after]
    state.pos = after
    return True


def _line(state: Any, number: int) -> str:
    return str(state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]).strip()
