"""The words of a PDF page and where they stand, as pdfium gives them. Nothing here knows columns or paragraphs."""

from __future__ import annotations

import ctypes
import importlib
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from a2c_smcp.documents.model import Element

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the top left corner of the page as it is shown."""

Frame = Callable[[float, float], tuple[float, float]]
"""How a point of the file's own coordinates lies on the page."""

MAX_CHARACTERS = 120_000
"""Of one page; a page of print has about three thousand."""

RIGHT, DOWN, LEFT, UP = range(4)
_HYPHENS = "\ufffe\x02"
"""What pdfium gives for the hyphen of a word that goes on in the next line."""
_WORD = re.compile(rf"[^\s{_HYPHENS}]+[{_HYPHENS}]?|[{_HYPHENS}]")
_EAST = 0x2E80
"""Where the scripts of East Asia begin."""
_NO_TEXT = "\x00"
_BOLD = re.compile(r"bold|black|heavy|demi|medi$|cmbx|cmssbx|-bd\b", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|cmtt|menlo|typewriter", re.IGNORECASE)
_LATIN = re.compile("[0-9A-Za-z]")
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
    """Words that run in another direction than most."""
    direction: int
    rtl: bool
    cut: bool
    """There were more than `MAX_CHARACTERS`."""

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


def frame_of(page: Any) -> Frame:
    """How a point of the file's own coordinates lies on the page as it is shown: cropped, turned, from the top left."""
    left, bottom, right, top = page.get_cropbox()
    rotation = page.get_rotation()
    if rotation == 90:
        return lambda x, y: (y - bottom, x - left)
    if rotation == 180:
        return lambda x, y: (right - x, y - bottom)
    if rotation == 270:
        return lambda x, y: (top - y, right - x)
    return lambda x, y: (x - left, top - y)


def box_of(frame: Frame, x0: float, y0: float, x1: float, y1: float) -> Box:
    """The box between two corners."""
    ax, ay = frame(x0, y0)
    bx, by = frame(x1, y1)
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def read_words(textpage: Any, frame: Frame) -> Words:
    """All words of a page."""
    count = min(textpage.count_chars(), MAX_CHARACTERS)
    upright = frame(1, 1) == (frame(0, 0)[0] + 1, frame(0, 0)[1] - 1)
    found = _Reader(textpage.raw, frame, upright=upright).read(_characters(textpage.raw, count))
    votes: Counter[int] = Counter()
    for word, direction in found:
        if direction is not None:
            votes[direction] += len(word.text)
    most = votes.most_common(1)[0][0] if votes else RIGHT
    items: list[Item] = []
    sideways: list[Item] = []
    for word, direction in found:
        own = most if direction is None else direction
        _set(word, turn(word.box, own), own)
        (items if own == most else sideways).append(word)
    turned = sum(len(_RTL.findall(item.text)) for item in items if not item.text.isascii())
    rtl = turned * 2 > sum(len(item.text) for item in items)
    return Words(items, sideways, most, rtl, textpage.count_chars() > count)


def is_rtl(words: str) -> bool:
    """Whether there are letters in it that are written from right to left."""
    return _RTL.search(words) is not None


def _set(word: Item, box: Box, direction: int) -> None:
    """Put a word into its frame; its height is made from its size, as fonts say too little and too much about it."""
    word.x0, word.top, word.x1, word.bottom = box
    word.base = word.bottom - 0.2 * word.size if direction else word.base
    word.top, word.bottom = word.base - 0.8 * word.size, word.base + 0.2 * word.size


def _characters(raw: Any, count: int) -> str:
    """One character for each of pdfium's."""
    pdfium: Any = importlib.import_module("pypdfium2.raw")
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
    """Asks pdfium about words, and as little as possible: a question costs as much as pdfium's own work on a word."""

    def __init__(self, raw: Any, frame: Frame, *, upright: bool) -> None:
        self._pdfium: Any = importlib.import_module("pypdfium2.raw")
        self._raw, self._frame, self._upright = raw, frame, upright
        self._zero = frame(0, 0)
        self._first, self._last = self._pdfium.FS_RECTF(), self._pdfium.FS_RECTF()
        self._matrix = self._pdfium.FS_MATRIX()
        self._x, self._y, self._flags = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        self._name = ctypes.create_string_buffer(128)
        self._styles: dict[bytes, tuple[bool, bool]] = {}

    def read(self, text: str) -> list[tuple[Item, int | None]]:
        """Words with their directions; words of one line that stand together are one item."""
        raw, first, last, name, flags = self._raw, self._first, self._last, self._name, self._flags
        loose_box, font_of = self._pdfium.FPDFText_GetLooseCharBox, self._pdfium.FPDFText_GetFontInfo
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
            loose_box(raw, start, first)
            loose_box(raw, stop, last)
            font_of(raw, start, name, 128, flags)
            font, left, right = name.value, first.left, last.right
            if (
                run is not None
                and start == run_end + 1
                and text[run_end] == " "
                and first.top == run_top
                and first.bottom == run_bottom == last.bottom
                and font == run_font
                and -0.2 * run.size < left - run_right < 0.5 * run.size
                and right > left
            ):
                piece = words[:-1] + "-" if hyphen else words
                run.pieces.append((run.x1 + left - run_right, run.x1 + right - run_right, piece))
                run.text = f"{run.text} {piece}"
                run.x1 += right - run_right
                run.hyphen = hyphen
            else:
                item, direction = self._word(words, start, stop, hyphen=hyphen)
                found.append((item, direction))
                together = self._upright and direction == RIGHT and not is_rtl(words)
                run = item if together else None
                run_top, run_bottom, run_font = first.top, first.bottom, font
            run_end, run_right = end, right
            if hyphen:
                run = None
        return found

    def _word(self, words: str, start: int, stop: int, *, hyphen: bool) -> tuple[Item, int | None]:
        """A word whose ends and font have been asked for, and its direction, None where one letter does not show it."""
        pdfium, raw, first, last, matrix = self._pdfium, self._raw, self._first, self._last, self._matrix
        pdfium.FPDFText_GetMatrix(raw, start, matrix)
        pdfium.FPDFText_GetCharOrigin(raw, start, self._x, self._y)
        size = pdfium.FPDFText_GetFontSize(raw, start) * math.hypot(matrix.c, matrix.d)
        if not 0.5 < size < 2_000:
            size = min(max(abs(first.top - first.bottom), 1.0), 2_000.0)
        left, right = min(first.left, last.left), max(first.right, last.right)
        bottom, top = min(first.bottom, last.bottom), max(first.top, last.top)
        if is_rtl(words) and _LATIN.search(words):
            # Two directions in one word: its first and its last letter are not at its ends.
            box = pdfium.FS_RECTF()
            for index in range(start, stop + 1):
                pdfium.FPDFText_GetLooseCharBox(raw, index, box)
                left, right = min(left, box.left), max(right, box.right)
        dx, dy = self._frame(matrix.a, matrix.b)
        direction: int | None = _direction(dx - self._zero[0], dy - self._zero[1])
        if direction == RIGHT and ord(words[0]) >= _EAST:
            # Only these scripts are written downwards with upright letters; one letter alone does not show it.
            if stop == start:
                direction = None
            elif abs(first.top - last.top) > abs(first.left - last.left) + 0.6 * size:
                direction = DOWN
        words = words[:-1] + "-" if hyphen else words
        x0, y0, x1, y1 = box_of(self._frame, left, bottom, right, top)
        base = self._frame(self._x.value, self._y.value)[1]
        bold, mono = self._style()
        item = Item(words, x0, y0, x1, y1, base, size, bold, mono, hyphen, [(x0, x1, words)], order=start)
        return item, direction

    def _style(self) -> tuple[bool, bool]:
        style = self._styles.get(self._name.value)
        if style is None:
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
