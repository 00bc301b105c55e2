"""Pictures of pages for text recognition: turned upright, of a bounded size, and cut into pieces if they are long."""

from __future__ import annotations

import io
from math import ceil, sqrt

from PIL import Image

from a2c_documents.model import Piece, Scan

MAX_PIECE = 4_000_000
"""Pixels of a piece: a page of A4 at 200 dpi. Recognition needs up to 300 bytes for each pixel."""
MAX_PIECES = 8
LONGEST = 5.0
"""The greatest ratio between the sides of a piece. Recognition enlarges the short side of narrow pictures."""
LEAST = 24
"""Pixels of the shorter side of the smallest picture with words in it."""
_OVERLAP = 0.06
"""The part of its shorter side by which a piece overlaps the next: more than a line of text."""
_QUALITY = 90
_SMOOTH = Image.Resampling.LANCZOS


def is_worth_reading(width: int, height: int) -> bool:
    """Whether a picture is large enough to have words in it."""
    short, long = min(width, height), max(width, height)
    return short >= LEAST and short * long >= 100 * LEAST and long <= LONGEST * MAX_PIECES * short


def scan_of(picture: Image.Image, scale: float = 1.0) -> Scan:
    """The pieces of a decoded picture; `scale` is the number of its pixels in a unit of the page."""
    count, factor = divided(picture.width, picture.height)
    if factor < 1:
        size = max(round(picture.width * factor), 1), max(round(picture.height * factor), 1)
        # A picture of one bit for each pixel would lose the thin parts of its letters.
        picture = (picture.convert("L") if picture.mode == "1" else picture).resize(size, _SMOOTH)  # pyright: ignore[reportUnknownMemberType]
    picture = _opaque(picture)
    return Scan([_piece(picture, number, count) for number in range(count)], picture.size, scale * min(factor, 1.0))


def divided(width: int, height: int) -> tuple[int, float]:
    """The number of pieces of a picture, and the factor by which it is made smaller before."""
    short, long = max(min(width, height), 1), max(width, height, 1)
    count = min(max(ceil(long / short / LONGEST), 1), MAX_PIECES)
    # A long picture, such as that of a web page, has the lines of several pages.
    if long > 2 * short:
        count = min(max(count, ceil(width * height / MAX_PIECE)), MAX_PIECES)
    return count, min(sqrt(count * MAX_PIECE / (width * height)), 1.0)


def _piece(picture: Image.Image, number: int, count: int) -> Piece:
    is_wide = picture.width > picture.height
    length, side = (picture.width, picture.height) if is_wide else (picture.height, picture.width)
    start, stop = length * number // count, length * (number + 1) // count
    more = round(_OVERLAP * side) if count > 1 else 0
    first, last = max(start - more, 0), min(stop + more, length)
    crop = (first, 0, last, side) if is_wide else (0, first, side, last)
    owned = (start, 0, stop, side) if is_wide else (0, start, side, stop)
    out = io.BytesIO()
    part = picture.crop(crop) if count > 1 else picture
    part.save(out, "JPEG", quality=_QUALITY)
    return Piece("image/jpeg", out.getvalue(), crop[0], crop[1], owned)


def _opaque(picture: Image.Image) -> Image.Image:
    """The picture on white, in a mode that JPEG has."""
    if picture.mode in ("RGB", "L"):
        return picture
    if picture.mode.startswith("I") or picture.mode == "F":
        # Sixteen bits for each pixel: scaled by its own range, because Pillow would cut it off.
        low, high = picture.getextrema()
        scale = 255 / max(float(high) - float(low), 1.0)  # pyright: ignore[reportArgumentType] - one band
        offset = -scale * float(low)  # pyright: ignore[reportArgumentType]
        shown = picture.convert("F").point(lambda value: value * scale + offset)  # pyright: ignore[reportUnknownMemberType]
        return shown.convert("L")
    if "A" in picture.mode or "transparency" in picture.info:
        shown = picture.convert("RGBA")
        ground = Image.new("RGBA", shown.size, "white")
        ground.alpha_composite(shown)
        return ground.convert("RGB")
    return picture.convert("L" if picture.mode == "1" else "RGB")
