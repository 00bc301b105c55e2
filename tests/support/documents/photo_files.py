"""Photos: a HEIF file, because no library at hand writes one without an encoder under the GPL; AVIF from Pillow."""

from __future__ import annotations

import base64
from pathlib import Path

from PIL import Image

HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAchtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9jAA"
    "AAAERAAAIAAQAAAAAB7AABAAAAAAAAACoAAgAAAAACFgABAAAAAAAAAFIAAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAAABVp"
    "bmZlAgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAABB2lwcnAAAADmaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGE"
    "ABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZEAcFzwIkA"
    "AAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xhcAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AAAAACAAAAEH"
    "BpeGkAAAAAAwgICAAAAAlpcm90AwAAABlpcG1hAAAAAAAAAAEAAQaBAgMFhIYAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAAAIRtZGF0AAAA"
    "JigBr1jyScP7/7m//0nP////+4LvppBINhF/qi7rk3jFZcqrgi64AAAABkV4aWYAAE1NACoAAAAIAAMBDgACAAAADgAAADIBDwACAAAABwAAAE"
    "ABEgADAAAAAQAGAAAAAAAAQSBsZWFmIG9mIHRlYQBDYW1lcmEAAA=="
)
"""Made for these tests: 64 × 48 green pixels, turned by a quarter, with a description and a camera."""


def write_heic(path: Path) -> None:
    """A photo of a phone."""
    path.write_bytes(HEIC)


def write_avif(path: Path) -> None:
    """A picture of the same size."""
    Image.new("RGB", (64, 48), "green").save(path, "AVIF")
