"""A worker process: reads one request at a time from standard input and writes the reply to standard output.

Whatever a file does to its parser stays in this process: its memory is limited, and the server kills a worker that
takes too long. It imports neither asyncio nor mcp, because it must start fast.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import OrderedDict
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from a2c_documents.folder.files import holder_of
from a2c_documents.model import ConversionNeededError, PagesSource, Source, UnreadableFileError
from a2c_documents.parsers.common.passwords import PasswordNeededError, allowed
from a2c_documents.parsers.common.plain_text import opening
from a2c_documents.parsers.unknown import Unreadable
from a2c_documents.registry import VERSION, Format, format_of, suffix_of
from a2c_documents.render import page_shape, searched_on
from a2c_documents.wording import size_words
from a2c_documents.workers import failures
from a2c_documents.workers.streams import private_streams
from a2c_documents.workers.unpacking import Unpacking, identity_of
from a2c_smcp.utils.extras import how_to_install
from a2c_smcp.utils.garbage import collect_less_often
from a2c_smcp.utils.system.processes import end_with_parent
from a2c_smcp.utils.system.resources import limit_memory

KEPT_OPEN = 4
"""Files that stay open after a request."""
MAY_BE_EMPTY = ("text", "code")
"""Formats in which an empty file is valid."""
WHOLE_BYTES = 1 << 30
"""Larger files are not hashed completely."""
MAX_BLOB_BYTES = 50_000_000
"""The largest picture or attachment that is sent."""
_BLOCK = 1 << 20
_EXTRAS = {"pi_heif": "heif"}
"""The extras of libraries that are not part of `documents`."""


class Reader:
    """Opens files, and keeps the last few open: a client that reads one page often reads the next."""

    def __init__(self, version: int = VERSION) -> None:
        self._version = version
        self.converted: Path | None = None
        """What is read in place of the file of the current request."""
        self._open: OrderedDict[Path, tuple[tuple[int, ...], Source]] = OrderedDict()
        self._unpacking = Unpacking(self._close)

    def digest(self, path: Path) -> dict[str, Any]:
        """The key under which everything read from this content is kept: a hash of the content, and one of the reader.

        The second has the format and its version: when a parser changes, the pages that the old one made are not used
        any more, and two files with the same bytes but different endings are two contents. The first alone tells
        whether files in several folders are copies, whatever version reads them. A film of many gigabytes is
        identified by its beginning, its end and its times, because hashing all of it takes minutes.
        """
        try:
            file = self._unpacking.file(path)
        except UnreadableFileError as error:
            # A file that cannot be unpacked has no content, but fails as long as its archive is the same.
            holder = holder_of(path) or path
            return {"digest": _short_hash(repr((str(error), str(path), identity_of(holder))))}
        kind = format_of(file)
        how = f"{self._version}.{kind.module}.{kind.function}.{kind.version}.{suffix_of(path)}"
        reader = hashlib.blake2b(how.encode("utf-8", "surrogateescape"), digest_size=8)
        digest = hashlib.blake2b(digest_size=16)
        with file.open("rb") as content:
            if os.fstat(content.fileno()).st_size > WHOLE_BYTES:
                digest.update(repr(identity_of(file)).encode())
                digest.update(content.read(_BLOCK))
                content.seek(-_BLOCK, os.SEEK_END)
            while block := content.read(_BLOCK):
                digest.update(block)
        return {"digest": f"{digest.hexdigest()}-{reader.hexdigest()}"}

    def facts(self, path: Path) -> dict[str, Any]:
        """The facts of a document, and the titles of its pages."""
        source = self._source(path)
        facts = source.facts
        title, summary = facts.title, facts.summary
        # Only if all pages are in memory anyway. For formats that are read page by page, the search index provides
        # title and summary when it reads the first page (`SearchIndex._name`).
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
            **({"members": facts.members} if facts.members else {}),
            **({"problem": source.problem} if isinstance(source, Unreadable) else {}),
        }

    def page(self, path: Path, index: int) -> dict[str, Any]:
        """One page."""
        return page_shape(self._source(path).page(index), index)

    def blob(self, path: Path, index: int, element_id: str) -> dict[str, Any]:
        """The picture of an image element, or the file of a link."""
        # Pages in the store have no pictures: an element refers to the open file. So the page is parsed again.
        page = self._source(path).page(index)
        shapes = page_shape(page, index)["elements"]
        for element, shape in zip(page.elements, shapes, strict=True):
            read = element.picture or element.file
            if shape["element_id"] == element_id and read is not None:
                mime_type, data = read()
                if len(data) > MAX_BLOB_BYTES:
                    raise UnreadableFileError(f"{size_words(len(data))} are too much to be read at once")
                return {"mime_type": mime_type, "data": base64.b64encode(data).decode()}
        raise UnreadableFileError("there is no such picture or file")

    def scan(self, path: Path, index: int) -> dict[str, Any]:
        """The pieces of the picture of a page, for text recognition."""
        seen = self._source(path).page(index).scan
        if seen is None:
            raise UnreadableFileError("this page is no scan")
        scan = seen()
        pieces = [
            {
                "picture": base64.b64encode(piece.data).decode(), "type": piece.mime_type,
                "left": piece.left, "top": piece.top, "owned": piece.owned,
            }
            for piece in scan.pieces
        ]  # fmt: skip
        return {"pieces": pieces, "size": scan.size, "scale": scan.scale}

    def recognized(
        self, path: Path, index: int, answers: list[dict[str, Any]], size: tuple[int, int], scale: float
    ) -> dict[str, Any]:
        """A page with the text that was recognized in its picture."""
        # The layout needs the modules of PDF files, which other formats do without.
        from a2c_documents.parsers.recognized import with_recognized

        return page_shape(with_recognized(self._source(path).page(index), answers, size, scale), index)

    def words(self, path: Path, start: int, stop: int) -> dict[str, Any]:
        """The text of some pages, for the search index: page, element, text."""
        source = self._source(path)
        found: list[tuple[int, str, str]] = []
        scans: list[int] = []
        for index in range(start, min(stop, len(source.page_titles))):
            shape = page_shape(source.page(index), index)
            found += [(index, element_id, text) for element_id, text in searched_on(shape)]
            scans += [index] if shape.get("is_scan") else []
        return {"words": found, "scans": scans}

    def _source(self, path: Path) -> Source:
        try:
            file = self._unpacking.file(path)
        except UnreadableFileError as error:
            return Unreadable(str(error))
        identity = identity_of(holder_of(path) or path)
        known, source = self._open.pop(path, (identity, None))
        # The file was replaced under the same name, and the open parser would continue to read the old one.
        if source is not None and known != identity:
            source.close()
            source = None
        if source is None:
            source = _open_converted(path, self.converted) if self.converted else _open_file(file, format_of(file))
        self._open[path] = identity, source
        while len(self._open) > KEPT_OPEN:
            self._open.popitem(last=False)[1][1].close()
        return source

    def file(self, path: Path) -> Path:
        """The file to open for a path, which may be in an archive.

        Raises:
            UnreadableFileError: it cannot be unpacked.
        """
        return self._unpacking.file(path)

    def _close(self, path: Path) -> None:
        _, source = self._open.pop(path, (None, None))
        if source is not None:
            source.close()

    def close(self) -> None:
        """Close all files, and delete what was unpacked."""
        for path in list(self._open):
            self._close(path)
        self._unpacking.close()


def _short_hash(words: str) -> str:
    return hashlib.blake2b(words.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _open_file(path: Path, kind: Format) -> Source:
    """A source for any file. A file that cannot be read becomes one page that gives the reason."""
    if path.stat().st_size == 0:
        empty = Unreadable("The file is empty.")
        return PagesSource(empty.facts, [empty.page(0)]) if kind.module in MAY_BE_EMPTY else empty
    try:
        return kind.parser(path)
    except PasswordNeededError:
        raise  # nothing to keep: its owner can give the password
    except UnreadableFileError as error:
        return Unreadable(str(error))


def _open_converted(path: Path, converted: Path) -> Source:
    """A source for the result of a conversion."""
    source = _open_file(converted, format_of(converted))
    source.facts.details = {**source.facts.details, "converted_from": suffix_of(path)}
    return source


def _from_content(source: PagesSource, title: str, summary: str) -> tuple[str, str]:
    """Title and summary from the first page, for files without metadata."""
    elements = source.page(0).elements[:20]
    # A heading below data or a list names the part that follows, not the document.
    above = takewhile(lambda element: element.category not in ("list", "table", "code"), elements)
    headings = (str(element.content.get("text", "")) for element in above if element.category == "heading")
    title = title or next(headings, "")
    return title, summary or opening(elements, title)


def main() -> None:
    """Answer requests until standard input ends."""
    collect_less_often()
    # Before anything that may print: parsers are imported with the first request, and their libraries may write to the
    # standard descriptors.
    requests, answers = private_streams()
    limit_memory(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    # A decrypted document must not stay behind, even if the server is killed.
    folder = sys.argv[2] if len(sys.argv) > 2 else ""
    end_with_parent(partial(shutil.rmtree, folder, ignore_errors=True) if folder else None)
    if folder:
        tempfile.tempdir = folder  # the pool deletes it when this process has ended
    reader = Reader()
    for line in requests:
        answers.write(_reply(reader, json.loads(line)))
        answers.flush()
    reader.close()


def _reply(reader: Reader, request: dict[str, Any]) -> bytes:
    """A line that describes the failure, `{}` for none; after `{}`, a second line with the answer.

    The answer has its own line so that the server can store its bytes unchanged: a page is serialized here, and nowhere
    else on its way to the disk.
    """
    path = Path(request["path"])
    reader.converted = Path(request["converted"]) if "converted" in request else None
    try:
        return _answer(reader, request, path)
    except MemoryError:
        problem = "reading it takes more memory than it may have"
        return _line({"problem": problem, "cause": "unclear", "is_exhausted": True})
    except RecursionError:
        return _line({"problem": "it is nested too deep", "cause": "file"})
    except PasswordNeededError as error:
        return _line({"problem": str(error), "cause": "later"})
    except UnreadableFileError as error:
        return _line({"problem": str(error), "cause": "file"})
    except ImportError as error:
        extra = _EXTRAS.get(error.name or "", "documents")
        advice = f"to read this file, install {error.name or error} ({how_to_install(extra)})"
        return _line({"problem": advice, "cause": "machine"})
    except OSError as error:
        if holder_of(path) is None:
            return _line({"gone": True})
        is_system = error.errno is not None  # without a number it comes from a library: the file is truncated
        problem = error.strerror if is_system else f"it cannot be read: {error or type(error).__name__}"
        return _line({"problem": problem, "cause": "machine" if is_system else "file"})
    except Exception as error:
        # Libraries raise anything for damaged files. The error is logged by the server; the worker stays usable.
        problem = f"it cannot be read: {type(error).__name__}: {error}"[:500]
        return _line({"problem": problem, "cause": "file", "is_unexpected": True})


def _answer(reader: Reader, request: dict[str, Any], path: Path) -> bytes:
    try:
        with allowed(request.get("passwords", ())):
            return b"{}\n" + _line(getattr(reader, request["do"])(path, *request["with"]))
    except ConversionNeededError as error:
        # The state before the content: if the file changes in between, the state shows it.
        file = reader.file(path)
        identity = failures.identity_of(file.stat())
        return _line({"convert": [str(file), error.to, reader.digest(path)["digest"], identity]})


def _line(reply: dict[str, Any]) -> bytes:
    return json.dumps(reply, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


if __name__ == "__main__":
    main()
