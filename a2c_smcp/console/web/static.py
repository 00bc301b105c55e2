"""The style sheet, the modules and the pictures of the console, under addresses that change with their contents."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from functools import cached_property
from pathlib import Path

from starlette.responses import Response

from a2c_smcp.console.web.languages import ENGLISH, NAMES, texts
from a2c_smcp.errors import NotFoundError

FOLDER = Path(__file__).parent.parent / "static"
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


class StaticFiles:
    """All files below one folder, which are small: they are kept in memory.

    One hash stands for all of them. A module imports others by a relative path, so a hash for each file would need
    the modules to be rewritten.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @cached_property
    def _files(self) -> dict[str, bytes]:
        found = {
            path.relative_to(self._folder).as_posix(): path.read_bytes()
            for path in sorted(self._folder.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }
        return found | {f"texts/{language}.js": _module(language) for language in NAMES if language != ENGLISH}

    @cached_property
    def digest(self) -> str:
        """Stands for the contents of all files."""
        whole = hashlib.sha256()
        for name, content in self._files.items():
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
        return whole.hexdigest()[:16]

    def answer(self, digest: str, name: str) -> Response:
        """The response with a file.

        Raises:
            NotFoundError: there is none, or the page that asks for it is of another version.
        """
        content = self._files.get(name)
        if content is None or digest != self.digest:
            raise NotFoundError("there is no such file: load the page again")
        suffix = Path(name).suffix
        kind = _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
        return Response(content, 200, {"Cache-Control": "public, max-age=31536000, immutable", "Content-Type": kind})


def _module(language: str) -> bytes:
    """The texts of a language as a module."""
    return f"import {{add}} from '../web/texts.js';\nadd({json.dumps(texts(language))});\n".encode()
