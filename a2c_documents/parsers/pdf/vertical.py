"""Japanese and Chinese text that runs downwards in a font that is not in the file: pdfium leaves most of it out.

Such a page is read a second time by pdfminer (through pdfplumber), which is slow and knows these fonts.
"""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

from a2c_documents.parsers.pdf.words import DOWN, Item, Words, turn

_logger = logging.getLogger(__name__)
_MAX_LETTERS = 50_000
_CJK_FROM = 0x2E80


def read_downwards(path: Path, index: int) -> Words | None:
    """The lines of the page, from right to left; None where it has no text of this kind."""
    try:
        plumber: Any = importlib.import_module("pdfplumber")
        with plumber.open(path, pages=[index + 1]) as document:
            letters: list[Any] = document.pages[0].chars[:_MAX_LETTERS]
    except Exception as error:  # pdfminer raises whatever its own code stumbles over
        _logger.debug("%s: page %d is left to pdfium: %s", path.name, index + 1, error)
        return None
    lines: list[Item] = []
    for letter in letters:
        words = str(letter["text"])
        if words.startswith("(cid:"):
            continue
        size = float(letter["size"])
        box = (float(letter["x0"]), float(letter["top"]), float(letter["x1"]), float(letter["bottom"]))
        last = lines[-1] if lines else None
        if last is not None and abs(last.x0 - box[0]) < 0.5 * size and abs(box[1] - last.bottom) < 0.5 * size:
            last.text += words
            last.bottom = box[3]
        elif words.strip():
            lines.append(Item(words, box[0], box[1], box[0] + size, box[3], 0.0, size, order=len(lines)))
    length = sum(len(line.text) for line in lines)
    tall = sum(len(line.text) for line in lines if line.bottom - line.top > 1.5 * line.size)
    if not length or tall * 2 < length or sum(ord(line.text[0]) >= _CJK_FROM for line in lines) * 2 < len(lines):
        return None
    for line in lines:
        line.text = line.text.strip()
        line.x0, line.top, line.x1, line.bottom = turn(line.box, DOWN)
        line.base = line.bottom - 0.2 * line.size
    return Words([line for line in lines if line.text], [], DOWN, rtl=False, cut=len(letters) == _MAX_LETTERS)
