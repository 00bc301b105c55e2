"""Pictures as documents: what their headers say. Pixels are decoded only for somebody who wants to see them."""

from __future__ import annotations

import importlib
import io
import struct
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, image, note
from a2c_documents.parsers.common.pictures import MAX_PICTURE
from a2c_documents.parsers.images.describing import described
from a2c_documents.parsers.images.svg import open_svg
from a2c_documents.wording import size_words

__all__ = ["open_image", "open_svg", "read_image"]

MAX_PIXELS = 60_000_000
"""Pixels of a picture that is decoded to be shown."""
MAX_FRAMES = 5_000
_MAX_ICON = 2_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "ICO")
_SHOWN = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""Formats that can be shown as they are; others are turned into PNG."""
_OTHERS = {"TIFF": "image/tiff", "BMP": "image/bmp", "ICO": "image/x-icon"}
_DESCRIPTION, _MAKER, _MODEL, _CHANGED, _ARTIST = 0x010E, 0x010F, 0x0110, 0x0132, 0x013B
_EXIF, _TAKEN, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS = 0x8769, 0x9003, 0x9C9B, 0x9C9C, 0x9C9E


def open_image(path: Path) -> Source:
    """Open a picture; each frame of a TIFF is a page.

    Raises:
        UnreadableFileError: it is no picture that is known here, or its header is damaged.
    """
    with _opened(path) as picture:
        kind = _kind(picture)
        facts, about = _facts(picture)
        frames = _frames(picture)
        facts.details = {"format": kind, "width": picture.width, "height": picture.height, **about}
        if kind != "TIFF" or frames == 1:
            metadata = about | ({"frames": frames} if frames > 1 else {})
            return PagesSource(facts, [Page(facts.title, [_element(path, picture, facts, 0, metadata)])])
        pages: list[Page] = []
        for frame in range(frames):
            title = f"Page {frame + 1} of {frames}"
            try:
                picture.seek(frame)
                pages.append(Page(title, [_element(path, picture, facts, frame, about | {"frame": frame + 1})]))
            except _errors() as error:
                pages.append(Page(title, [note("annotation", f"This frame cannot be read: {error}")]))
        return PagesSource(facts, pages)


def _element(path: Path, picture: Any, facts: Facts, frame: int, metadata: dict[str, Any]) -> Element:
    kind, size = _kind(picture), f"{picture.width} × {picture.height} pixels"
    known = {"width": picture.width, "height": picture.height, "mode": str(picture.mode)} | metadata
    moving = f", {metadata['frames']} frames" if "frames" in metadata else ""
    what = described(facts.summary if facts.title else "", f"{kind} picture, {size}{moving}")
    element = image(facts.title or facts.summary, what, **known)
    element.picture = partial(read_image, path, frame)
    return element


def read_image(path: Path, frame: int = 0) -> tuple[str, bytes]:
    """Type and bytes of a picture, or of one frame of it, in a format that can be shown.

    Raises:
        UnreadableFileError: it cannot be decoded, or is too large for that.
    """
    with _opened(path) as picture:
        kind = _kind(picture)
        if path.stat().st_size > MAX_PICTURE:
            raise UnreadableFileError(f"a picture of {size_words(path.stat().st_size)} is too large to show")
        if kind in _SHOWN and not frame:
            return _SHOWN[kind], path.read_bytes()
        try:
            picture.seek(frame)
            if picture.width * picture.height > MAX_PIXELS:
                if frame:
                    raise UnreadableFileError(f"{picture.width} × {picture.height} pixels are too many to show")
                return _OTHERS[kind], path.read_bytes()
            shown = (
                picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16") else picture.convert("RGB")
            )
            target = io.BytesIO()
            shown.save(target, "PNG")
        except _errors() as error:
            raise UnreadableFileError(f"the picture cannot be decoded: {error}") from None
    return "image/png", target.getvalue()


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    pillow: Any = importlib.import_module("PIL.Image")
    limit = pillow.MAX_IMAGE_PIXELS
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = file.read(4)
        file.seek(0)
        if not start:
            raise UnreadableFileError("the file is empty")
        try:
            # A header says how large a picture is and costs nothing, however large that is. Only icons are decoded as
            # soon as they are opened.
            pillow.MAX_IMAGE_PIXELS = _MAX_ICON if start == b"\x00\x00\x01\x00" else None
            picture = pillow.open(file, formats=FORMATS)
        except _errors() as error:
            raise UnreadableFileError(f"this is no picture, or a damaged one: {_said(error)}") from None
        finally:
            pillow.MAX_IMAGE_PIXELS = limit
        with picture:
            yield picture


def _errors() -> tuple[type[BaseException], ...]:
    """What Pillow raises for files that are not as they should be."""
    pillow: Any = importlib.import_module("PIL.Image")
    return (
        OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, TypeError, OverflowError, AttributeError,
        ZeroDivisionError, MemoryError, RuntimeError, struct.error, pillow.DecompressionBombError,
    )  # fmt: skip


def _said(error: BaseException) -> str:
    """What an error says; Pillow's names the open file, which tells a person nothing."""
    return "its format is not known" if "cannot identify" in str(error) else str(error)


def _kind(picture: Any) -> str:
    # The further frames of an MPO are previews and depth maps of its first: to people it is a JPEG.
    return {"MPO": "JPEG", "DIB": "BMP"}.get(str(picture.format), str(picture.format))


def _frames(picture: Any) -> int:
    if picture.format == "MPO":
        return 1
    try:
        return max(1, min(int(getattr(picture, "n_frames", 1)), MAX_FRAMES))
    except _errors():
        return 1
    finally:
        try:
            picture.seek(0)
        except _errors():
            pass


# ---------------------------------------------------------------------------------------------------------------- facts


def _facts(picture: Any) -> tuple[Facts, dict[str, Any]]:
    """What a picture says about itself, and what else is worth knowing."""
    info: dict[str, Any] = {str(key).lower(): value for key, value in picture.info.items()}
    tags, taken_tags = _exif(picture)
    facts = Facts(
        title=_words(info.get("title")) or _words(tags.get(_XP_TITLE)),
        author=_words(info.get("author")) or _words(tags.get(_ARTIST)),
        keywords=[word.strip() for word in _words(tags.get(_XP_KEYWORDS)).replace(",", ";").split(";") if word.strip()],
        summary=_words(info.get("description")) or _words(tags.get(_DESCRIPTION)) or _words(tags.get(_XP_COMMENT)),
        created=_moment(_words(taken_tags.get(_TAKEN)) or _words(tags.get(_CHANGED))),
    )
    about: dict[str, Any] = {}
    camera = " ".join(dict.fromkeys(filter(None, (_words(tags.get(_MAKER)), _words(tags.get(_MODEL))))))
    if camera:
        about["camera"] = camera
    if facts.created:
        about["taken"] = facts.created
    dpi = info.get("dpi")
    try:
        if dpi and 10 < float(dpi[0]) < 100_000:  # less is a ratio and no resolution
            about["dpi"] = round(float(dpi[0]))
    except _errors():
        pass
    return facts, about


def _exif(picture: Any) -> tuple[dict[int, Any], dict[int, Any]]:
    try:
        exif = picture.getexif()
        return dict(exif), dict(exif.get_ifd(_EXIF))
    except _errors():
        return {}, {}


def _words(value: Any) -> str:
    """The text of a tag; Windows writes its own in UTF-16."""
    if isinstance(value, tuple):
        try:
            value = bytes(value)  # pyright: ignore[reportUnknownArgumentType] - a tag of single bytes
        except (ValueError, TypeError):
            return ""
    if isinstance(value, bytes):
        encoding = "utf-16-le" if len(value) % 2 == 0 and value[1::2].count(0) * 2 >= len(value) // 2 else "utf-8"
        value = value.decode(encoding, "replace")
    return " ".join(value.replace("\x00", " ").split())[:1_000] if isinstance(value, str) else ""


def _moment(words: str) -> str:
    """EXIF writes 2023:02:08 13:46:33."""
    try:
        return datetime.strptime(words[:19], "%Y:%m:%d %H:%M:%S").isoformat()
    except ValueError:
        return ""
