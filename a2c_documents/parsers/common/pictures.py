"""Pictures that a text refers to: in a data URI, or in a file beside it."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from a2c_documents.model import Element, UnreadableFileError, image

MAX_PICTURE = 50_000_000
Picture = Callable[[], tuple[str, bytes]]


def picture_element(src: str, alt: str, description: str = "", base: Path | None = None) -> Element:
    """An image by its address; `base` is the folder of the text that refers to it."""
    shown = image(alt, description, "" if src.startswith("data:") else src)
    if src.startswith("data:"):
        shown.picture = in_data_uri(src)
    elif base is not None:
        shown.picture = beside(base, src)
    return shown


def in_data_uri(uri: str) -> Picture | None:
    """The picture in `data:image/png;base64,…`, decoded on request."""
    head, comma, body = uri.partition(",")
    mime = head.removeprefix("data:").split(";")[0].strip().lower()
    if not comma or not mime.startswith("image/"):
        return None
    return encoded(mime, body) if head.endswith(";base64") else lambda: (mime, unquote_to_bytes(body))


def encoded(mime: str, body: str) -> Picture:
    """A picture in base64, decoded on request."""

    def read() -> tuple[str, bytes]:
        try:
            # Base64 in a data URI may have line breaks and percent escapes.
            return mime, base64.b64decode("".join(unquote(body).split()))
        except (binascii.Error, ValueError):
            raise UnreadableFileError("this picture is damaged") from None

    return read


def beside(base: Path, src: str) -> Picture | None:
    """A picture in the text's own folder or below; None for an address that leads elsewhere."""
    # The text may come from anywhere, and must not make the server read other files than its own pictures: no absolute
    # paths, no hidden files, and, after links are resolved, nothing outside of the folder.
    try:
        parts = urlsplit(src)
        relative = Path(unquote(parts.path))
        mime = mimetypes.guess_type(relative.name)[0] or ""
        if parts.scheme or parts.netloc or not parts.path or relative.is_absolute() or not mime.startswith("image/"):
            return None
        if any(part.startswith(".") and part != "." for part in relative.parts):
            return None
        folder = base.resolve()
        file = (folder / relative).resolve()
        if not file.is_relative_to(folder) or not file.is_file() or file.stat().st_size > MAX_PICTURE:
            return None
    except (OSError, ValueError):
        return None

    def read() -> tuple[str, bytes]:
        try:
            return mime, file.read_bytes()
        except OSError as error:
            raise UnreadableFileError(f"this picture cannot be opened: {error.strerror}") from None

    return read
