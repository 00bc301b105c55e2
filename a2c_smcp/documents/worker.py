"""A process that reads files for the server: one request at a time on standard input, one answer on standard output.

Whatever a file does to its parser stays in here: memory is bounded, and the server ends a worker that takes too long.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import sys
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

from a2c_smcp.documents.model import PagesSource, Source, UnreadableFileError
from a2c_smcp.documents.parsers.unknown import Unreadable
from a2c_smcp.documents.registry import Format, format_of
from a2c_smcp.documents.render import as_text
from a2c_smcp.documents.shapes import page_shape

KEPT_OPEN = 4
MAY_BE_EMPTY = ("text", "code")
"""Formats of which an empty file is a good one."""
_BLOCK = 1 << 20


class Reader:
    """Opens files, and keeps the last few open: who reads one page often reads the next."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, int, int], Source] = OrderedDict()

    def digest(self, path: Path) -> dict[str, Any]:
        """What the content of a file is known by; it includes how the file is read."""
        kind = format_of(path)
        digest = hashlib.blake2b(f"{kind.module}.{kind.function}.{kind.version}".encode(), digest_size=16)
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return {"digest": digest.hexdigest()}

    def facts(self, path: Path) -> dict[str, Any]:
        """What a document says of itself, and the titles of its pages."""
        source = self._source(path)
        facts = source.facts
        title, summary = facts.title, facts.summary
        if isinstance(source, PagesSource) and not (title and summary):
            title, summary = _from_content(source, title, summary)
        return {
            "title": title,
            "author": facts.author,
            "keywords": facts.keywords,
            "summary": summary,
            "created": facts.created,
            "details": facts.details,
            "page_titles": list(source.page_titles),
            **({"problem": source.problem} if isinstance(source, Unreadable) else {}),
        }

    def page(self, path: Path, index: int) -> dict[str, Any]:
        """One page."""
        return page_shape(self._source(path).page(index), index)

    def picture(self, path: Path, index: int, element_id: str) -> dict[str, Any]:
        """The picture of an image element."""
        page = self._source(path).page(index)
        shapes = page_shape(page, index)["elements"]
        for element, shape in zip(page.elements, shapes, strict=True):
            if shape["element_id"] == element_id and element.picture is not None:
                mime_type, data = element.picture()
                return {"mime_type": mime_type, "data": base64.b64encode(data).decode()}
        raise UnreadableFileError("there is no such picture")

    def words(self, path: Path, start: int, stop: int) -> dict[str, Any]:
        """What can be searched for on some pages: page, element, text."""
        source = self._source(path)
        found: list[tuple[int, str, str]] = []
        for index in range(start, min(stop, len(source.page_titles))):
            shapes = page_shape(source.page(index), index)["elements"]
            texts = [(shape["element_id"], as_text(shape)) for shape in shapes]
            found += [(index, element_id, text) for element_id, text in texts if text.strip()]
        return {"words": found}

    def _source(self, path: Path) -> Source:
        stat = path.stat()
        key = str(path), stat.st_mtime_ns, stat.st_size
        source = self._open.pop(key, None)
        if source is None:
            source = _open_file(path, format_of(path))
        self._open[key] = source
        while len(self._open) > KEPT_OPEN:
            self._open.popitem(last=False)[1].close()
        return source


def _open_file(path: Path, kind: Format) -> Source:
    """A source for any file: one that cannot be read is a page that says why."""
    if path.stat().st_size == 0:
        empty = Unreadable("The file is empty.")
        return PagesSource(empty.facts, [empty.page(0)]) if kind.module in MAY_BE_EMPTY else empty
    try:
        return kind.parser(path)
    except UnreadableFileError as error:
        return Unreadable(str(error))
    except ModuleNotFoundError as error:  # not the file's fault: it is not remembered
        advice = f"to read this file, install {error.name} (pip install 'a2c-stack[documents]')"
        raise UnreadableFileError(advice) from None


def _from_content(source: PagesSource, title: str, summary: str) -> tuple[str, str]:
    """Title and summary from the first page, where the file itself says nothing."""
    for element in source.page(0).elements[:20]:
        if not title and element.category == "heading":
            title = str(element.content.get("text", ""))
        if not summary and element.category == "text":
            summary = " ".join(str(element.content.get("text", "")).split())[:300]
    return title, summary


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = _private_streams()
    _bound_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    threading.Thread(target=_end_with_server, args=[os.getppid()], daemon=True).start()
    reader = Reader()
    for line in requests:
        request: dict[str, Any] = json.loads(line)
        answers.write(json.dumps(_answer(reader, request), ensure_ascii=False, default=str).encode("utf-8", "replace"))
        answers.write(b"\n")
        answers.flush()


def _answer(reader: Reader, request: dict[str, Any]) -> dict[str, Any]:
    try:
        act = getattr(reader, request["do"])
        return {"answer": act(Path(request["path"]), *request.get("with", []))}
    except FileNotFoundError:
        return {"gone": True}
    except MemoryError:
        return {"problem": "reading it takes more memory than it may have"}
    except RecursionError:
        return {"problem": "it is nested too deep"}
    except OSError as error:
        return {"problem": error.strerror or type(error).__name__}
    except UnreadableFileError as error:
        return {"problem": str(error)}
    except Exception as error:  # a library that a file has got out of step: the file is at fault, the worker lives on
        return {"problem": f"it cannot be read: {type(error).__name__}: {error}"[:500], "is_unexpected": True}


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the server, out of reach of libraries that print."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    sys.stdout = sys.stderr = io.TextIOWrapper(open(os.devnull, "wb"))  # noqa: SIM115
    return requests, answers


def _end_with_server(server: int) -> None:
    """A parser that never returns must not outlive who asked for it."""
    while os.getppid() == server:
        time.sleep(1)
    os._exit(1)


def _bound_memory(max_bytes: int) -> None:
    if max_bytes:
        with contextlib.suppress(ImportError, OSError, ValueError):  # not everywhere
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


if __name__ == "__main__":
    main()
