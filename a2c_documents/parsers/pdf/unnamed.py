"""Letters that pdfium cannot name: ligatures whose only names are those of their glyphs, such as `f_f_i`.

pdfium gives the codes of such letters, which are mostly control characters. pdfminer (through pdfplumber) understands
all names, but is slow, so it is asked only about pages that have such codes.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from a2c_documents.parsers.pdf.words import UNNAMED, Item

_logger = logging.getLogger(__name__)
_MAX_FONTS = 200
_UNKNOWN = "\ufffd"


def give_names(path: Path, index: int, items: Iterable[Item], password: str | None = None) -> None:
    """Replace the codes in the words of a page by the letters that they stand for."""
    held = [item for item in items if any(ord(letter) > UNNAMED for letter in item.text)]
    codes = {ord(letter) for item in held for letter in item.text if ord(letter) > UNNAMED}
    names = _names(path, index, {code - UNNAMED for code in codes}, password) if codes else {}
    table = {code: names.get(code - UNNAMED, _UNKNOWN) for code in codes}
    for item in held:
        item.text = item.text.translate(table)
        item.pieces = [(x0, x1, words.translate(table)) for x0, x1, words in item.pieces]


def _names(path: Path, index: int, codes: set[int], password: str | None) -> dict[int, str]:
    """The texts of codes that mean the same in all fonts of a page that know them."""
    found: dict[int, set[str]] = {code: set() for code in codes}
    try:
        # Importing pdfminer takes longer than reading a page, and few files need it.
        import pdfplumber

        with pdfplumber.open(path, pages=[index + 1], password=password) as document:
            for font in _fonts(document.pages[0].page_obj.resources):
                for code in codes:
                    if text := _text(font, code):
                        found[code].add(text)
    except Exception as error:  # pdfminer raises anything for files it does not understand
        _logger.debug("%s: codes of page %d have no names: %s", path.name, index + 1, error)
    return {code: texts.pop() for code, texts in found.items() if len(texts) == 1}


def _fonts(resources: Any) -> list[Any]:
    from pdfminer.pdfinterp import PDFResourceManager
    from pdfminer.pdftypes import dict_value, resolve1

    manager = PDFResourceManager()
    specs = list(dict_value(resources.get("Font", {})).values())[:_MAX_FONTS]
    return [manager.get_font(None, dict_value(resolve1(spec))) for spec in specs]


def _text(font: Any, code: int) -> str:
    from pdfminer.pdffont import PDFUnicodeNotDefined

    try:
        text = str(font.to_unichr(code))
    except (PDFUnicodeNotDefined, KeyError):
        return ""
    return unicodedata.normalize("NFKC", text) if text.isprintable() else ""
