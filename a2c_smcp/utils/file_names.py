"""The names of files that are made of what MCP servers return. They are safe: they name a new file in one folder."""

from __future__ import annotations

import itertools
import mimetypes
import re
from io import BufferedWriter
from pathlib import Path
from urllib.parse import unquote, urlsplit

# All other characters may have a meaning in a path of some system, such as the backslash and the colon of Windows.
_UNFIT = re.compile(r"[^\w.() -]")


def media_name(kind: str, mime_type: str) -> str:
    """The name for a picture or recording, such as `image.png`."""
    return f"{kind}{_ending(mime_type) or '.bin'}"


def resource_name(uri: str, mime_type: str | None, ending: str) -> str:
    """The name for a resource, after the end of its address; `resource` with this ending, if that has no name. A name
    without an ending gets that of its type."""
    # The address comes from an MCP server, and must not lead out of the folder. Decoded first, so that `%2F` does not
    # pass as harmless. Leading dots would hide the file, or name a parent folder.
    name = _UNFIT.sub("_", unquote(urlsplit(uri).path.rstrip("/").rpartition("/")[2])).lstrip(".")
    if name and mime_type and "." not in name:
        name += _ending(mime_type)
    return name or f"resource{ending}"


def new_file(folder: Path, name: str) -> BufferedWriter:
    """A new file in a folder, open for writing, under this name or a similar one. Its `name` is its path."""
    # File systems limit the length of a name, in bytes. The end of a name has its type.
    wanted = Path(name.encode()[-200:].decode("utf-8", "ignore"))
    for number in itertools.count(1):
        path = folder / (wanted.name if number == 1 else f"{wanted.stem}-{number}{wanted.suffix}")
        # "x" creates the file or fails, in one step: to look first would race with other programs in the same folder.
        try:
            return path.open("xb")
        except FileExistsError:
            continue
    raise AssertionError("there is always another name")


def _ending(mime_type: str) -> str:
    """The usual ending of a file's name; older systems know `audio/x-wav` and not `audio/wav`."""
    return mimetypes.guess_extension(mime_type) or mimetypes.guess_extension(mime_type.replace("/", "/x-")) or ""
