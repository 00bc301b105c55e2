"""A file of a skill on its way to an Agent: a short text inside the answer, anything else as a handle."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from a2c_smcp.computer.offer.blobs import Blobs, whole
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.skills.skill import file_error
from a2c_smcp.errors import TooLargeError
from a2c_smcp.smcp import GetSkillRet

INLINE_BYTES = 32 * 1024
"""The largest text that is part of an answer."""
_PART = 1 << 20
# Not all systems know these, and some know others.
_MIME_TYPES = {".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".yaml": "text/yaml"}
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Content:
    """A file of a skill. `held` are its bytes, or its path if it is large."""

    name: str
    rel_path: str
    mime_type: str
    held: bytes | Path
    size: int


def content_of(name: str, rel_path: str, held: bytes | Path, size: int | None = None) -> Content:
    """A file, with the type that its name and its bytes tell."""
    suffix = os.path.splitext(rel_path)[1].lower()
    mime_type = _MIME_TYPES.get(suffix) or mimetypes.guess_type(rel_path)[0]
    if mime_type is None:
        mime_type = (
            "text/plain" if isinstance(held, bytes) and _as_text(held) is not None else "application/octet-stream"
        )
    return Content(name, rel_path, mime_type, held, len(held) if isinstance(held, bytes) else size or 0)


async def answer_with(content: Content, blobs: Blobs, caller: Caller, req_id: str) -> GetSkillRet:
    """The answer to `client:get_skill`.

    Raises:
        SkillFileError: the file is too large, or it changed while it was read.
    """
    answer = GetSkillRet(
        name=content.name,
        rel_path=content.rel_path,
        mime_type=content.mime_type,
        total_size=content.size,
        sha256="",
        req_id=req_id,
    )
    held = content.held
    text = _as_text(held) if isinstance(held, bytes) and len(held) <= INLINE_BYTES else None
    if isinstance(held, bytes) and text is not None:
        answer["sha256"] = hashlib.sha256(held).hexdigest()
        answer["body"] = text
        return answer
    parts = whole(held) if isinstance(held, bytes) else lambda: _parts_of(held)
    try:
        blob = await blobs.keep(caller, parts, content.size, content.mime_type)
    except TooLargeError as error:
        raise file_error("too_large", content.rel_path, error.message, content.size) from None
    except (OSError, ValueError):
        raise file_error("not_found", content.rel_path, "it changed while it was read; try again") from None
    answer["total_size"], answer["sha256"], answer["blob_handle"] = blob.size, blob.sha256, blob.handle
    return answer


def open_file(path: Path) -> int:
    """Open a regular file; nothing else, since a pipe could block, and a device could have effects.

    Raises:
        OSError: it cannot be opened.
    """
    number = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise IsADirectoryError(f"{path} is no file")
    return number


def _parts_of(path: Path) -> Iterator[bytes]:
    with open(open_file(path), "rb") as file:
        while part := file.read(_PART):
            yield part


def _as_text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
