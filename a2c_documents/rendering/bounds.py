"""How much of one element a page shows in Markdown and text. The element itself, on level 3, is always complete."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from a2c_documents.wording import counted

MAX_WORDS = 40_000
"""Characters of a text, a note or a form."""
MAX_ROWS = 100_000
"""Characters of a table, a list or code, which a reader skims."""
_LINES = ("table", "list", "code")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]|\n")


def bounded(shown: str, item: dict[str, Any], address: Callable[[dict[str, Any]], str]) -> str:
    """An element, up to the last sentence or line that fits; then the address of the whole one."""
    is_lines = item["category"] in _LINES
    most = MAX_ROWS if is_lines else MAX_WORDS
    if len(shown) <= most:
        return shown
    cut = _line_end(shown, most) if is_lines else _sentence_end(shown, most)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    closing = f"\n{fence}" if len(fence) >= 3 and item["category"] == "code" else ""
    rest = counted(len(shown) - cut, "more character")
    return f"{shown[:cut].rstrip()}{closing}\n\n[… {rest}: {address(item)}]"


def _line_end(shown: str, most: int) -> int:
    end = shown.rfind("\n", most // 2, most)
    return end if end > 0 else most


def _sentence_end(shown: str, most: int) -> int:
    """The end of the last sentence in the second half; without one, of the last word."""
    end = max((found.end() for found in _SENTENCE.finditer(shown, most // 2, most)), default=0)
    return end or max(shown.rfind(" ", most // 2, most), 0) or most
