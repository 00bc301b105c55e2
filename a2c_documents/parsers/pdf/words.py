"""The words of a PDF page and their positions, without columns or paragraphs.

Most of the time of reading a page is spent in calls into pdfium. So pdfium is asked about words, not about characters,
and words of one line with the same font are joined without further calls.
"""

from __future__ import annotations

import ctypes
import logging
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.geometry import Box, Matrix, box_in, is_upright, point_in

RIGHT, DOWN, LEFT, UP = range(4)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")


@dataclass(slots=True)
class Item:
    """Words that belong together, or a block such as a table that takes part in the layout."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float
    """The baseline."""
    size: float
    bold: bool = False
    mono: bool = False
    hyphen: bool = False
    """Whether it ends with a hyphen that only the line break requires."""
    pieces: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    """Its words if there are several: left, right, text."""
    block: Element | None = None
    order: int = 0
    """Its position in the file."""

    @property
    def first(self) -> float:
        """The width of its first word."""
        return self.pieces[0][1] - self.pieces[0][0] if len(self.pieces) > 1 else self.x1 - self.x0

    @property
    def box(self) -> Box:
        """Its position on the page, or in the turned frame."""
        return self.x0, self.top, self.x1, self.bottom


@dataclass(slots=True)
class Words:
    """The words of a page in file order, turned so that they read from left to right."""

    items: list[Item]
    sideways: list[tuple[Item, int]]
    """Words in another direction than most, with their positions on the page, and their directions."""
    direction: int
    rtl: bool
    """Whether most of it is read from right to left."""
    has_rtl: bool
    cut: bool
    """Whether some words were left out."""

    def shown(self, box: Box) -> list[float]:
        """A box in the turned frame, as a box on the page."""
        x0, y0, x1, y1 = box
        turned = {RIGHT: (x0, y0, x1, y1), DOWN: (-y1, x0, -y0, x1), LEFT: (-x1, -y1, -x0, -y0), UP: (y0, -x1, y1, -x0)}
        return [round(value, 1) + 0.0 for value in turned[self.direction]]

    def framed(self, box: Box) -> Box:
        """A box on the page, in the turned frame."""
        return turn(box, self.direction)


def turn(box: Box, direction: int) -> Box:
    """A box on the page, turned so that text of this direction runs to the right and lines go down."""
    x0, y0, x1, y1 = box
    if direction == DOWN:
        return y0, -x1, y1, -x0
    if direction == UP:
        return -y1, x0, -y0, x1
    if direction == LEFT:
        return -x1, -y1, -x0, -y0
    return box


def parted(item: Item) -> list[Item]:
    """Each word as an item of its own."""
    if len(item.pieces) < 2:
        return [item]
    last = len(item.pieces) - 1
    return [
        replace(item, text=words, x0=x0, x1=x1, pieces=[], order=item.order + at, hyphen=item.hyphen and at == last)
        for at, (x0, x1, words) in enumerate(item.pieces)
    ]


def rtl_letters(words: str) -> int:
    """The number of letters that are written from right to left."""
    return 0 if words.isascii() else len(_RTL.findall(words))


def is_rtl(words: str) -> bool:
    """Whether it has letters of a script that is written from right to left."""
    return not words.isascii() and _RTL.search(words) is not None


# --------------------------------------------------------------------------------------------------------------- pdfium


MAX_CHARACTERS = 120_000
"""Characters of one page that are read. A printed page has about three thousand."""
ABOVE, BELOW = 0.8, 0.2
"""The height of a line above its baseline and below it, in letter sizes. The numbers in fonts are unreliable."""
TOUCHING = 0.15
"""The width of a gap that no space is as narrow as, in letter sizes."""

_HYPHENS = "\ufffe\x02"
"""pdfium's characters for a hyphen at a line break inside a word."""
_WORD = re.compile(rf"[^\s{_HYPHENS}]+[{_HYPHENS}]?|[{_HYPHENS}]")
_EAST = 0x2E80
"""The first code point of the East Asian scripts."""
_NO_TEXT = "\x00"
_BOLD = re.compile(r"bold|black|heavy|demi|medi$|cmbx|cmssbx|-bd\b", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|cmtt|menlo|typewriter", re.IGNORECASE)
_BRACKET, _BRACKETED = re.compile(r"[()\[\]{}]"), re.compile(r"[()\[\]{}]|[^()\[\]{}\s]+")
_LATIN = re.compile("[0-9A-Za-z]")


def read_words(textpage: PdfTextPage, frame: Matrix) -> Words:
    """All words of a page."""
    total = textpage.count_chars()
    count = min(total, MAX_CHARACTERS)
    found = _Reader(textpage.raw, frame).read(_characters(textpage.raw, count))
    votes: Counter[int] = Counter()
    for word, direction in found:
        if direction is not None:
            votes[direction] += len(word.text)
    # The page is read in the direction of most of its characters.
    most = votes.most_common(1)[0][0] if votes else RIGHT
    items: list[Item] = []
    sideways: list[tuple[Item, int]] = []
    for word, direction in found:
        own = most if direction is None else direction
        if own != most:
            sideways.append((word, own))
            continue
        if direction != RIGHT:
            _set(word, turn(word.box, own), own)
        items.append(word)
    letters = sum(rtl_letters(item.text) for item in items)
    rtl = letters * 2 > sum(len(item.text) for item in items)
    return Words(items, sideways, most, rtl, has_rtl=letters > 0, cut=total > count)


def _set(word: Item, box: Box, direction: int) -> None:
    """Set the box of a word, with a height that depends on its size only."""
    word.x0, word.top, word.x1, word.bottom = box
    word.base = word.bottom - BELOW * word.size if direction else word.base
    word.top, word.bottom = word.base - ABOVE * word.size, word.base + BELOW * word.size


def _characters(raw: Any, count: int) -> str:
    """A text with exactly one character for each character index of pdfium."""
    buffer = (ctypes.c_ushort * (count + 1))()
    pdfium.FPDFText_GetText(raw, 0, count, buffer)
    text = bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00")
    if len(text) == count:
        return text
    # FPDFText_GetText omits characters without a text, after which positions in the text and indexes in pdfium differ.
    # Then every character is asked for, which is much slower.
    unicode_of = pdfium.FPDFText_GetUnicode
    return "".join(
        [chr(value) if 0 < value < 0x110000 else _NO_TEXT for value in map(_asking(unicode_of, raw), range(count))]
    )


def _asking(function: Any, raw: Any) -> Callable[[int], int]:
    return lambda index: function(raw, index)


class _Reader:
    """Asks pdfium for the position, font and direction of each word.

    On a dense page this takes most of the time of reading it, so the loop keeps functions and buffers in local
    variables.
    """

    def __init__(self, raw: Any, frame: Matrix) -> None:
        self._raw, self._frame = raw, frame
        self._upright = is_upright(frame)
        self._first, self._last = pdfium.FS_RECTF(), pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._x, self._y, self._flags = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        self._name = ctypes.create_string_buffer(128)
        self._styles: dict[bytes, tuple[bool, bool]] = {}

    def read(self, text: str) -> list[tuple[Item, int | None]]:
        """Words with their directions. Neighbouring words of one line with the same font become one item."""
        raw, first, other, name, flags = self._raw, self._first, self._last, self._name, self._flags
        loose_box, font_of = pdfium.FPDFText_GetLooseCharBox, pdfium.FPDFText_GetFontInfo
        found: list[tuple[Item, int | None]] = []
        run: Item | None = None
        run_end, run_top, run_bottom, run_right, run_font = -1, 0.0, 0.0, 0.0, b""
        for match in _WORD.finditer(text):
            start, end = match.span()
            words = match.group()
            hyphen = words[-1] in _HYPHENS
            stop = end - 2 if hyphen and end - start > 1 else end - 1
            if not words.isascii() or _NO_TEXT in words:
                words = _clean(words.replace(_NO_TEXT, ""))
                if not words:
                    continue
            words = words[:-1] + "-" if hyphen else words
            loose_box(raw, start, first)
            last = first
            if stop > start:
                last = other
                loose_box(raw, stop, last)
            font_of(raw, start, name, 128, flags)
            font, left, right, top, bottom = name.value, first.left, last.right, first.top, first.bottom
            # A word that continues a run needs no further calls: size, style, direction and baseline are those of the
            # run. On an upright page the frame only moves and mirrors, so that horizontal distances in pdfium's
            # coordinates can be added to positions in the frame.
            if (
                run is not None
                and start == run_end + 1
                and text[run_end] == " "
                and top == run_top
                and bottom == run_bottom == last.bottom
                and font == run_font
                and -0.2 * run.size < left - run_right < 0.5 * run.size
                and right > left
            ):
                if not run.pieces:
                    run.pieces.append((run.x0, run.x1, run.text))
                run.pieces.append((run.x1 + left - run_right, run.x1 + right - run_right, words))
                run.text = f"{run.text} {words}"
                run.x1 += right - run_right
                run.hyphen = hyphen
            elif (
                run is not None
                and start == run_end + 2
                and text[run_end] == "\r"
                # The box of a ligature is that of its letters, and not of its font.
                and abs(bottom - run_bottom) < 0.3 * run.size
                and font == run_font
                and -0.2 * run.size < left - run_right < TOUCHING * run.size
                and right > left
            ):
                # pdfium takes a page with few words for a vertical one, and then each letter for a line.
                run.text += words
                run.x1 += right - run_right
                if run.pieces:
                    x0, _, begun = run.pieces[-1]
                    run.pieces[-1] = x0, run.x1, begun + words
                run.hyphen = hyphen
            elif not words.isascii() and stop > start and is_rtl(words) and _BRACKET.search(words):
                # pdfium adds a bracket to the wrong one of the words beside it.
                found += self._without_brackets(text, start, stop + 1)
                run = None
            else:
                item, direction = self._word(words, start, stop, last, hyphen=hyphen)
                found.append((item, direction))
                # A run grows to the right, unlike words that are written from right to left.
                run = item if self._upright and direction == RIGHT and not is_rtl(words) else None
                run_top, run_bottom, run_font = top, bottom, font
            run_end, run_right = end, right
            if hyphen:
                run = None
        return found

    def _without_brackets(self, text: str, start: int, stop: int) -> list[tuple[Item, int | None]]:
        """The brackets of a word from right to left, and what is between them, as words of their own."""
        found: list[tuple[Item, int | None]] = []
        box = pdfium.FS_RECTF()
        for match in _BRACKETED.finditer(text, start, stop):
            pdfium.FPDFText_GetLooseCharBox(self._raw, match.start(), self._first)
            pdfium.FPDFText_GetLooseCharBox(self._raw, match.end() - 1, box)
            found.append(self._word(_clean(match.group()), match.start(), match.end() - 1, box, hyphen=False))
        return found

    def _word(self, words: str, start: int, stop: int, last: Any, *, hyphen: bool) -> tuple[Item, int | None]:
        """A word whose ends and font are known, and its direction; None if a single letter does not show it."""
        raw, first, matrix = self._raw, self._first, self._matrix
        pdfium.FPDFText_GetMatrix(raw, start, matrix)
        # Many programs set a font size of 1 and scale it with the matrix. If the product is absurd, the height of the
        # box replaces it.
        size = pdfium.FPDFText_GetFontSize(raw, start) * math.hypot(matrix.c, matrix.d)
        bottom, top, left, right, height = first.bottom, first.top, first.left, last.right, matrix.f
        if not 0.5 < size < 2_000:
            size = min(max(abs(top - bottom), 1.0), 2_000.0)
        bold, mono = self._styles.get(self._name.value) or self._style()
        straight = self._upright and matrix.b == 0 and matrix.a > 0 and left <= last.left and words.isascii()
        if straight and bottom <= height < 0.4 * bottom + 0.6 * top:
            # The fast path for most words: upright ASCII text, whose baseline is the origin of its matrix.
            x0, base = self._frame[4] + left, self._frame[5] - height
            x1 = self._frame[4] + (right if right > first.right else first.right)
            above, below = base - ABOVE * size, base + BELOW * size
            return Item(words, x0, above, x1, below, base, size, bold, mono, hyphen, [], None, start), RIGHT
        pdfium.FPDFText_GetCharOrigin(raw, start, self._x, self._y)
        left, right = min(left, last.left), max(first.right, right)
        bottom, top = min(bottom, last.bottom), max(top, last.top)
        if is_rtl(words) and _LATIN.search(words):
            # Two directions in one word: its first and last letters are not at its ends, so all boxes are needed.
            box = pdfium.FS_RECTF()
            for index in range(start, stop + 1):
                pdfium.FPDFText_GetLooseCharBox(raw, index, box)
                left, right = min(left, box.left), max(right, box.right)
        elif is_rtl(words) and first.right < last.right:
            # Letters in the order of the page, not in the order of reading.
            words = words[::-1]
        direction: int | None = _direction(*point_in((*self._frame[:4], 0, 0), matrix.a, matrix.b))
        if direction == RIGHT and ord(words[0]) >= _EAST:
            # Only these scripts are written downwards with upright letters. A single letter does not show the
            # direction.
            if stop == start:
                direction = None
            elif abs(first.top - last.top) > abs(first.left - last.left) + 0.6 * size:
                direction = DOWN
        x0, y0, x1, y1 = box_in(self._frame, left, bottom, right, top)
        base = point_in(self._frame, self._x.value, self._y.value)[1]
        item = Item(words, x0, y0, x1, y1, base, size, bold, mono, hyphen, order=start)
        if direction == RIGHT:
            _set(item, item.box, RIGHT)
        return item, direction

    def _style(self) -> tuple[bool, bool]:
        """Whether the current font is bold, and whether it is monospaced."""
        font = self._name.value.decode("utf-8", "replace")
        mono = bool(self._flags.value & 1) or _MONO.search(font) is not None
        style = self._styles[self._name.value] = _BOLD.search(font) is not None, mono
        return style


def _direction(dx: float, dy: float) -> int:
    if abs(dy) > abs(dx) * 2:
        return DOWN if dy > 0 else UP
    # Mirrored and slanted text is read as it is. Only text that is upside down is turned.
    return LEFT if dx < 0 and abs(dy) < -dx * 0.1 else RIGHT


def _clean(words: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode."""
    return words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ------------------------------------------------------------------------------------------------------------ downwards


_logger = logging.getLogger(__name__)
_MAX_LETTERS = 50_000
_CJK_FROM = 0x2E80


def read_downwards(path: Path, index: int, password: str | None = None) -> Words | None:
    """The lines of vertical Japanese or Chinese text, from right to left; None if the page has none.

    pdfium omits most vertical text in fonts that are not embedded. pdfminer (through pdfplumber) knows these fonts, but
    is slow, so it reads only pages where pdfium failed.
    """
    try:
        # Importing pdfminer takes longer than reading a page, and few files need it.
        import pdfplumber

        with pdfplumber.open(path, pages=[index + 1], password=password) as document:
            letters: list[Any] = document.pages[0].chars[:_MAX_LETTERS]
    except Exception as error:  # pdfminer raises anything for files it does not understand
        _logger.debug("%s: page %d is left to pdfium: %s", path.name, index + 1, error)
        return None
    lines: list[Item] = []
    for letter in letters:
        words = str(letter["text"])
        # pdfminer's text for a character that it cannot map.
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
    return Words(
        [line for line in lines if line.text], [], DOWN, rtl=False, has_rtl=False, cut=len(letters) == _MAX_LETTERS
    )
