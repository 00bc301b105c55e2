"""The words of a PDF page, and where they are. Nothing here knows columns or paragraphs."""

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
    """Words that stand together, or a block such as a table that stands on the page like one."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    base: float
    """Where the letters stand."""
    size: float
    bold: bool = False
    mono: bool = False
    hyphen: bool = False
    """It ends in a hyphen that is there only because the line ends."""
    pieces: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    """Its words, where there are several: left, right, text."""
    block: Element | None = None
    order: int = 0
    """Its place in the file."""

    @property
    def first(self) -> float:
        """The width of its first word."""
        return self.pieces[0][1] - self.pieces[0][0] if len(self.pieces) > 1 else self.x1 - self.x0

    @property
    def box(self) -> Box:
        """Where it is."""
        return self.x0, self.top, self.x1, self.bottom


@dataclass(slots=True)
class Words:
    """The words of a page in the order of the file, in the frame in which they read from left to right."""

    items: list[Item]
    sideways: list[Item]
    """Words that run in another direction than most, as they lie on the page."""
    direction: int
    rtl: bool
    cut: bool
    """There are more on the page."""

    def shown(self, box: Box) -> list[float]:
        """A box in the frame of the words, as a box on the page."""
        x0, y0, x1, y1 = box
        turned = {RIGHT: (x0, y0, x1, y1), DOWN: (-y1, x0, -y0, x1), LEFT: (-x1, -y1, -x0, -y0), UP: (y0, -x1, y1, -x0)}
        return [round(value, 1) + 0.0 for value in turned[self.direction]]

    def framed(self, box: Box) -> Box:
        """A box on the page, in the frame of the words."""
        return turn(box, self.direction)


def turn(box: Box, direction: int) -> Box:
    """A box on the page, in the frame in which text of that direction runs to the right and lines go down."""
    x0, y0, x1, y1 = box
    if direction == DOWN:
        return y0, -x1, y1, -x0
    if direction == UP:
        return -y1, x0, -y0, x1
    if direction == LEFT:
        return -x1, -y1, -x0, -y0
    return box


def parted(item: Item) -> list[Item]:
    """Each word for itself."""
    if len(item.pieces) < 2:
        return [item]
    last = len(item.pieces) - 1
    return [
        replace(item, text=words, x0=x0, x1=x1, pieces=[], order=item.order + at, hyphen=item.hyphen and at == last)
        for at, (x0, x1, words) in enumerate(item.pieces)
    ]


def rtl_letters(words: str) -> int:
    """How many letters are in it that are written from right to left."""
    return 0 if words.isascii() else len(_RTL.findall(words))


def is_rtl(words: str) -> bool:
    """Whether there are letters in it that are written from right to left."""
    return not words.isascii() and _RTL.search(words) is not None


# --------------------------------------------------------------------------------------------------------------- pdfium


MAX_CHARACTERS = 120_000
"""Of one page; a page of print has about three thousand."""
ABOVE, BELOW = 0.8, 0.2
"""Of a letter's size: what a line has above the place where letters stand, and below. Fonts say too little and too
much about it."""

_HYPHENS = "\ufffe\x02"
"""What pdfium gives for the hyphen of a word that goes on in the next line."""
_WORD = re.compile(rf"[^\s{_HYPHENS}]+[{_HYPHENS}]?|[{_HYPHENS}]")
_EAST = 0x2E80
"""Where the scripts of East Asia begin."""
_NO_TEXT = "\x00"
_BOLD = re.compile(r"bold|black|heavy|demi|medi$|cmbx|cmssbx|-bd\b", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|cmtt|menlo|typewriter", re.IGNORECASE)
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
    most = votes.most_common(1)[0][0] if votes else RIGHT
    items: list[Item] = []
    sideways: list[Item] = []
    for word, direction in found:
        own = most if direction is None else direction
        if own != most:
            sideways.append(word)
            continue
        if direction != RIGHT:
            _set(word, turn(word.box, own), own)
        items.append(word)
    rtl = sum(rtl_letters(item.text) for item in items) * 2 > sum(len(item.text) for item in items)
    return Words(items, sideways, most, rtl, total > count)


def _set(word: Item, box: Box, direction: int) -> None:
    """Put a word into its frame."""
    word.x0, word.top, word.x1, word.bottom = box
    word.base = word.bottom - BELOW * word.size if direction else word.base
    word.top, word.bottom = word.base - ABOVE * word.size, word.base + BELOW * word.size


def _characters(raw: Any, count: int) -> str:
    """One character for each of pdfium's."""
    buffer = (ctypes.c_ushort * (count + 1))()
    pdfium.FPDFText_GetText(raw, 0, count, buffer)
    text = bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00")
    if len(text) == count:
        return text
    # pdfium leaves out characters that it knows no text for: then each has to be asked for, to keep the count.
    unicode_of = pdfium.FPDFText_GetUnicode
    return "".join(
        [chr(value) if 0 < value < 0x110000 else _NO_TEXT for value in map(_asking(unicode_of, raw), range(count))]
    )


def _asking(function: Any, raw: Any) -> Callable[[int], int]:
    return lambda index: function(raw, index)


class _Reader:
    """Asks about each word where it begins and ends, which font it has, how it is turned and where it stands.

    On a dense page that is most of the time it takes to read it.
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
        """Words with their directions; words of one line that stand together are one item."""
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
            else:
                item, direction = self._word(words, start, stop, last, hyphen=hyphen)
                found.append((item, direction))
                run = item if self._upright and direction == RIGHT and not is_rtl(words) else None
                run_top, run_bottom, run_font = top, bottom, font
            run_end, run_right = end, right
            if hyphen:
                run = None
        return found

    def _word(self, words: str, start: int, stop: int, last: Any, *, hyphen: bool) -> tuple[Item, int | None]:
        """A word whose ends and font have been asked for, and its direction, None where one letter does not show it."""
        raw, first, matrix = self._raw, self._first, self._matrix
        pdfium.FPDFText_GetMatrix(raw, start, matrix)
        size = pdfium.FPDFText_GetFontSize(raw, start) * math.hypot(matrix.c, matrix.d)
        bottom, top, left, right, height = first.bottom, first.top, first.left, last.right, matrix.f
        if not 0.5 < size < 2_000:
            size = min(max(abs(top - bottom), 1.0), 2_000.0)
        bold, mono = self._styles.get(self._name.value) or self._style()
        straight = self._upright and matrix.b == 0 and matrix.a > 0 and left <= last.left and words.isascii()
        if straight and bottom <= height < 0.4 * bottom + 0.6 * top:
            # What most words are. The place of their line is that of each letter, except where letters go downwards.
            x0, base = self._frame[4] + left, self._frame[5] - height
            x1 = self._frame[4] + (right if right > first.right else first.right)
            above, below = base - ABOVE * size, base + BELOW * size
            return Item(words, x0, above, x1, below, base, size, bold, mono, hyphen, [], None, start), RIGHT
        pdfium.FPDFText_GetCharOrigin(raw, start, self._x, self._y)
        left, right = min(left, last.left), max(first.right, right)
        bottom, top = min(bottom, last.bottom), max(top, last.top)
        if is_rtl(words) and _LATIN.search(words):
            # Two directions in one word: its first and its last letter are not at its ends.
            box = pdfium.FS_RECTF()
            for index in range(start, stop + 1):
                pdfium.FPDFText_GetLooseCharBox(raw, index, box)
                left, right = min(left, box.left), max(right, box.right)
        direction: int | None = _direction(*point_in((*self._frame[:4], 0, 0), matrix.a, matrix.b))
        if direction == RIGHT and ord(words[0]) >= _EAST:
            # Only these scripts are written downwards with upright letters; one letter alone does not show it.
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
        """Whether the font that was asked for is bold, and whether it is a typewriter's."""
        font = self._name.value.decode("utf-8", "replace")
        mono = bool(self._flags.value & 1) or _MONO.search(font) is not None
        style = self._styles[self._name.value] = _BOLD.search(font) is not None, mono
        return style


def _direction(dx: float, dy: float) -> int:
    if abs(dy) > abs(dx) * 2:
        return DOWN if dy > 0 else UP
    # Mirrored and slanted text is read as it stands; only what is truly upside down is turned.
    return LEFT if dx < 0 and abs(dy) < -dx * 0.1 else RIGHT


def _clean(words: str) -> str:
    """Without halves of characters, which JSON cannot hold."""
    return words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ------------------------------------------------------------------------------------------------------------ downwards


_logger = logging.getLogger(__name__)
_MAX_LETTERS = 50_000
_CJK_FROM = 0x2E80


def read_downwards(path: Path, index: int) -> Words | None:
    """The lines of the page, from right to left; None where it has no text of this kind."""
    try:
        # Loading pdfminer takes longer than reading a page, and hardly any file needs it.
        import pdfplumber

        with pdfplumber.open(path, pages=[index + 1]) as document:
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
