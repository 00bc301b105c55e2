"""Pictures as documents: the facts in their headers, and the words in drawings (SVG)."""

from __future__ import annotations

import importlib
import importlib.util
import io
import struct
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree
from PIL import Image, ImageOps

from a2c_documents.model import (
    Element,
    Facts,
    Page,
    PagesSource,
    Scan,
    Source,
    UnreadableFileError,
    image,
    link,
    note,
    text,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.pictures import MAX_PICTURE
from a2c_documents.parsers.common.scans import is_worth_reading, scan_of
from a2c_documents.parsers.office.xml import MAX_XML, DamagedPartError, attribute, local, number, parse_xml, words_of
from a2c_documents.registry import is_heif
from a2c_documents.wording import size_words

MAX_PIXELS = 60_000_000
"""Pixels of a picture that is decoded to be shown."""
MAX_FRAMES = 5_000
_MAX_ICON = 2_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "DIB", "ICO", "AVIF")
_SHOWN = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""Formats that clients can show. Others are converted to PNG."""
_OTHERS = {"TIFF": "image/tiff", "BMP": "image/bmp", "ICO": "image/x-icon", "AVIF": "image/avif", "HEIF": "image/heic"}
_PHOTOS = ("AVIF", "HEIF")
"""Formats of photos, which are many times as large in PNG as in JPEG."""
_DESCRIPTION, _MAKER, _MODEL, _CHANGED, _ARTIST = 0x010E, 0x010F, 0x0110, 0x0132, 0x013B
_ERRORS = (
    OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, TypeError, OverflowError, AttributeError,
    ZeroDivisionError, MemoryError, RuntimeError, struct.error, Image.DecompressionBombError,
)  # fmt: skip
"""Exceptions that Pillow raises for damaged files."""
_EXIF, _TAKEN, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS = 0x8769, 0x9003, 0x9C9B, 0x9C9C, 0x9C9E


def open_image(path: Path) -> Source:
    """Open a picture. Each frame of a TIFF is a page.

    Raises:
        UnreadableFileError: its format is not supported, or its header is damaged.
    """
    with _opened(path) as picture:
        kind = _kind(picture)
        facts, about = _facts(picture)
        frames = _frames(picture)
        facts.details = {"format": kind, "width": picture.width, "height": picture.height, **about}
        # The frames of a TIFF are the pages of a scan or fax. Those of other formats are an animation, which is one
        # picture.
        if kind != "TIFF" or frames == 1:
            metadata = about | ({"frames": frames} if frames > 1 else {})
            return PagesSource(facts, [_page(facts.title, path, picture, facts, 0, metadata)])
        pages: list[Page] = []
        for frame in range(frames):
            title = f"Page {frame + 1} of {frames}"
            try:
                picture.seek(frame)
                pages.append(_page(title, path, picture, facts, frame, about | {"frame": frame + 1}))
            except _ERRORS as error:
                pages.append(Page(title, [note("annotation", f"This frame cannot be read: {error}")]))
        return PagesSource(facts, pages)


def _page(title: str, path: Path, picture: Image.Image, facts: Facts, frame: int, metadata: dict[str, Any]) -> Page:
    has_room = is_worth_reading(picture.width, picture.height) and _kind(picture) != "ICO"
    seen = partial(scan_image, path, frame) if has_room else None
    return Page(title, [_element(path, picture, facts, frame, metadata)], scan=seen)


def _element(path: Path, picture: Image.Image, facts: Facts, frame: int, metadata: dict[str, Any]) -> Element:
    kind, size = _kind(picture), f"{picture.width} × {picture.height} pixels"
    known: dict[str, Any] = {"width": picture.width, "height": picture.height, "mode": str(picture.mode)} | metadata
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
            # The pictures of a HEIF file have an order, but the one to show may be any of them: it is the open one.
            if kind != "HEIF":
                picture.seek(frame)
            # Decoded, a picture takes up to four bytes for each pixel, however small the file is. The file itself can
            # still be shown.
            if picture.width * picture.height > MAX_PIXELS:
                if frame:
                    raise UnreadableFileError(f"{picture.width} × {picture.height} pixels are too many to show")
                return _OTHERS[kind], path.read_bytes()
            shown = (
                picture if picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16") else picture.convert("RGB")
            )
            target = io.BytesIO()
            if kind in _PHOTOS and shown.mode in ("L", "RGB"):
                shown.save(target, "JPEG", quality=90)
                return "image/jpeg", target.getvalue()
            shown.save(target, "PNG")
        except _ERRORS as error:
            raise UnreadableFileError(f"the picture cannot be decoded: {error}") from None
    return "image/png", target.getvalue()


def scan_image(path: Path, frame: int) -> Scan:
    """A picture, or one frame of it, for text recognition.

    Raises:
        UnreadableFileError: it cannot be decoded, or is too large for that.
    """
    with _opened(path) as picture:
        try:
            picture.seek(frame)
            width = picture.width
            if picture.width * picture.height > MAX_PIXELS:
                picture.draft(None, (picture.width // 8, picture.height // 8))  # JPEG can be decoded in a smaller size
            if picture.width * picture.height > MAX_PIXELS:
                raise UnreadableFileError(f"{picture.width} × {picture.height} pixels are too many to be decoded")
            scale = picture.width / width
            return scan_of(ImageOps.exif_transpose(picture), scale)
        except _ERRORS as error:
            raise UnreadableFileError(f"the picture cannot be decoded: {error}") from None


@contextmanager
def _opened(path: Path) -> Generator[Image.Image]:
    limit = Image.MAX_IMAGE_PIXELS
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = file.read(64)
        file.seek(0)
        if not start:
            raise UnreadableFileError("the file is empty")
        try:
            # Opening reads the header only, so Pillow's guard against decompression bombs, which counts the pixels in
            # the header, would reject large but harmless scans. Icons are decoded as soon as they are opened: for
            # them the guard stays.
            Image.MAX_IMAGE_PIXELS = _MAX_ICON if start[:4] == b"\x00\x00\x01\x00" else None
            picture = Image.open(file, formats=_with_heif() if is_heif(start) else FORMATS)
        except _ERRORS as error:
            raise UnreadableFileError(f"this is no picture, or a damaged one: {_said(error)}") from None
        finally:
            Image.MAX_IMAGE_PIXELS = limit
        with picture:
            yield picture


def _with_heif() -> tuple[str, ...]:
    """The formats, and HEIF, which Pillow reads with the help of a library.

    Raises:
        ImportError: it is not installed.
    """
    # `pillow_heif` has the same interface. It can write as well, and brings an encoder under the GPL for that.
    name = "pillow_heif" if importlib.util.find_spec("pillow_heif") is not None else "pi_heif"
    importlib.import_module(name).register_heif_opener()
    return (*FORMATS, "HEIF")


def _said(error: BaseException) -> str:
    """The message of an error, without the file object that Pillow names."""
    return "its format is not known" if "cannot identify" in str(error) else str(error)


def _kind(picture: Image.Image) -> str:
    # Cameras and phones write MPO files under the name of JPEG: the first frame, then previews and depth maps of it.
    return {"MPO": "JPEG", "DIB": "BMP"}.get(str(picture.format), str(picture.format))


def _frames(picture: Image.Image) -> int:
    if picture.format in ("MPO", "HEIF"):
        return 1
    try:
        # Counting frames reads through the file, and damage anywhere in it raises. The first frame is usually good.
        return max(1, min(int(getattr(picture, "n_frames", 1)), MAX_FRAMES))
    except _ERRORS:
        return 1
    finally:
        with suppress(*_ERRORS):
            picture.seek(0)


# ---------------------------------------------------------------------------------------------------------------- facts


def _facts(picture: Image.Image) -> tuple[Facts, dict[str, Any]]:
    """The facts that a picture states about itself, and other details."""
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
        if dpi and 10 < float(dpi[0]) < 100_000:  # a smaller number is an aspect ratio
            about["dpi"] = round(float(dpi[0]))
    except _ERRORS:
        pass
    return facts, about


def _exif(picture: Image.Image) -> tuple[dict[int, Any], dict[int, Any]]:
    try:
        exif = picture.getexif()
        return dict(exif), dict(exif.get_ifd(_EXIF))
    except _ERRORS:
        return {}, {}


def _words(value: Any) -> str:
    """The text of a tag; Windows writes its own in UTF-16."""
    if isinstance(value, tuple):
        try:
            value = bytes(value)  # pyright: ignore[reportUnknownArgumentType] - a tag of single bytes
        except (ValueError, TypeError):
            return ""
    if isinstance(value, bytes):
        # The tag does not name its encoding. In UTF-16, every second byte of Latin text is zero.
        encoding = "utf-16-le" if len(value) % 2 == 0 and value[1::2].count(0) * 2 >= len(value) // 2 else "utf-8"
        value = value.decode(encoding, "replace")
    return " ".join(value.replace("\x00", " ").split())[:1_000] if isinstance(value, str) else ""


def _moment(words: str) -> str:
    """EXIF writes 2023:02:08 13:46:33."""
    try:
        return datetime.strptime(words[:19], "%Y:%m:%d %H:%M:%S").isoformat()
    except ValueError:
        return ""


# ---------------------------------------------------------------------------------------------------------- description


_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")


def described(about: str, what: str) -> str:
    """The author's description of a picture, if any, and its kind."""
    if not about:
        return what
    return f"{about}{'' if about.endswith(_SENTENCE_ENDS) else '.'} {what}"


# ------------------------------------------------------------------------------------------------------------------ SVG


MAX_SAID = 1_000
"""Characters of the title and of the description of a drawing."""
_NOT_SHOWN = frozenset({"defs", "metadata", "style", "script", "title", "desc"})
_UNITS = {"px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "em": 16.0, "": 1.0}


def open_svg(path: Path) -> Source:
    """Open an SVG file.

    Raises:
        UnreadableFileError: it is no SVG, or a damaged one.
    """
    if path.stat().st_size > MAX_XML:
        raise UnreadableFileError("this drawing is too large to read")
    raw = path.read_bytes()
    if not raw.strip():
        raise UnreadableFileError("the file is empty")
    damage = ""
    try:
        try:
            root = parse_xml(raw)
        except DamagedPartError as error:
            # The words of a damaged drawing are read as far as possible.
            root, damage = parse_xml(raw, recover=True), str(error)
        if local(root) != "svg":
            raise DamagedPartError("it is XML of another kind")
    except DamagedPartError as error:
        raise UnreadableFileError(f"this is no SVG drawing, or a damaged one: {error}") from None
    title, about = words_of(root.find("{*}title"))[:MAX_SAID], words_of(root.find("{*}desc"))[:MAX_SAID]
    width, height = _svg_size(root)
    size = f"SVG drawing, {width:g} × {height:g} pixels" if width and height else "SVG drawing"
    element = image(title or about, described(about if title else "", size), width=width, height=height)
    element.picture = partial(_read_svg, path)
    remarks = [note("annotation", f"A part of this drawing cannot be read: {damage}")] if damage else []
    facts = Facts(title, _creator(root), [], about, details={"width": width, "height": height})
    return PagesSource(facts, paginate([Page(title, [element, *_drawn_words(root), *remarks])]))


def _read_svg(path: Path) -> tuple[str, bytes]:
    try:
        return "image/svg+xml", path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"the drawing cannot be read: {error.strerror}") from None


def _svg_size(root: Any) -> tuple[float, float]:
    """Width and height in pixels, else those of the view box; 0 if both are missing."""
    width, height = _length(attribute(root, "width")), _length(attribute(root, "height"))
    box = attribute(root, "viewBox").replace(",", " ").split()
    if (not width or not height) and len(box) == 4:
        width, height = number(box[2]), number(box[3])
    return round(width, 1), round(height, 1)


def _length(words: str) -> float:
    digits = words.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%")
    return number(digits) * _UNITS.get(words.strip()[len(digits) :].lower(), 0)


def _creator(root: Any) -> str:
    holder = root.find(".//{*}metadata//{*}creator")
    return words_of(holder)[:200]


def _drawn_words(root: Any) -> list[Element]:
    """All texts of a drawing as one, in the order of the file; then its links.

    Programs split labels into pieces, down to single letters, so texts at the same height are joined into one line.
    """
    lines: list[str] = []
    links: list[Element] = []
    level: float | None = None
    waiting = [root]
    while waiting:
        node = waiting.pop()
        name = local(node)
        if not name or name in _NOT_SHOWN:
            continue
        if name in ("text", "flowRoot", "foreignObject"):
            words, height = _lines(node), _height(node)
            if words and lines and height is not None and height == level:
                lines[-1] += f" {words}"
            elif words:
                lines.append(words)
            level = height
            continue
        if name == "a":
            url, words = attribute(node, "href"), words_of(node)
            if url and words and not url.startswith("#"):
                links.append(link(words, url))
        # Reversed, so that the stack gives the nodes in document order.
        waiting.extend(reversed(node))
    return ([text("\n".join(lines))] if lines else []) + links


def _lines(node: Any) -> str:
    """The words of a text. A part with its own position is a line of its own."""
    lines = [""]
    for event, part in etree.iterwalk(node, events=("start", "end")):
        name = local(part)
        if event == "start":
            own_place = name == "tspan" and (part.get("y") is not None or part.get("dy", "0") != "0")
            if own_place or name in ("flowPara", "p", "div", "li", "br"):
                lines.append("")
            lines[-1] += (part.text or "") if name else ""
        elif part is not node:
            lines[-1] += part.tail or ""
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _height(node: Any) -> float | None:
    """The height of a text, if it is given."""
    down = attribute(node, "y").split()
    return number(down[0]) if down else None
