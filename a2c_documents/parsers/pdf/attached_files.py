"""Files inside a PDF: those of the whole document, and those pinned to a page.

pdfium unpacks such a file as a whole, in memory, even for its size alone, and ends the process where that is too much.
So pdfminer finds them (through pdfplumber), and they are unpacked here, up to a limit.
"""

from __future__ import annotations

import logging
import mimetypes
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import PDFStream, resolve1
from pdfminer.psparser import PSLiteral
from pdfminer.utils import decode_text

from a2c_documents.model import Element, UnreadableFileError
from a2c_documents.parsers.attached import MAX_FILE, AttachedFile, Attachments
from a2c_documents.parsers.common.decoding import clean, decode_as
from a2c_documents.parsers.mail.message import readable

_logger = logging.getLogger(__name__)

MAX_FILES = 100
"""Files that are shown on one page."""
MAX_UNPACKED = 4 * MAX_FILE
"""Bytes of all of them. Further ones have no size and no contents, and cannot be fetched."""
_MAX_NODES = 2_000
_MAX_STREAMS = 4
_ANY = "application/octet-stream"
_FORMULA = "application/mathml+xml"
"""Tagged PDFs have such a file for each formula of their text. They say nothing without their place."""
_FLATE = frozenset(("FlateDecode", "Fl"))


@dataclass(frozen=True, slots=True)
class Holder:
    """A PDF with files, and which of them are meant: those of a page, or of the whole document."""

    path: Path
    password: str | None
    page: int | None = None


def attached_elements(holder: Holder, names: Sequence[str]) -> Iterator[Element]:
    """The elements of the files. `names` are shown if they cannot be read."""
    attachments = Attachments()
    for file in _files(holder) or [AttachedFile(_plain(name), _kind(name), 0, bytes, str) for name in names]:
        yield from attachments.elements(file)


def _files(holder: Holder) -> list[AttachedFile]:
    found: list[AttachedFile] = []
    room = MAX_UNPACKED
    try:
        with _specifications(holder) as specifications:
            for number, specification in enumerate(specifications):
                name, stream = _name(specification), _stream(specification)
                kind = _literal(stream.get("Subtype")) if stream is not None else ""
                kind = kind if "/" in kind else _kind(name)
                if kind == _FORMULA:
                    continue
                size = _size(stream) if stream is not None and room > 0 else 0
                room -= size
                data = partial(_fetch, holder, number)
                found.append(AttachedFile(name, kind, size, data, partial(_words, data), is_cut=size > MAX_FILE))
    except Exception as error:  # pdfminer raises anything for files that it does not understand
        _logger.debug("%s: attached files cannot be read: %s", holder.path.name, type(error).__name__)
    return found


def _fetch(holder: Holder, number: int) -> bytes:
    """The bytes of a file.

    Raises:
        UnreadableFileError: it cannot be unpacked, or is too large.
    """
    try:
        with _specifications(holder) as specifications:
            stream = _stream(next(islice(specifications, number, None)))
            data = _unpacked(stream, MAX_FILE + 1) if stream is not None else b""
    except Exception as error:  # as above
        raise UnreadableFileError(f"the attached file cannot be read: {type(error).__name__}") from None
    if not 0 < len(data) <= MAX_FILE:
        raise UnreadableFileError("the attached file cannot be read, or is too large")
    return data


def _words(data: partial[bytes]) -> str:
    return clean(decode_as(data(), "")[0])


# -------------------------------------------------------------------------------------------------- where the files are


@contextmanager
def _specifications(holder: Holder) -> Generator[Iterator[dict[str, Any]]]:
    """The descriptions of the files, at most `MAX_FILES`."""
    with holder.path.open("rb") as file:
        document = PDFDocument(PDFParser(file), password=holder.password or "")
        found = _of_document(document) if holder.page is None else _of_page(document, holder.page)
        yield islice(found, MAX_FILES)


def _of_document(document: PDFDocument) -> Iterator[dict[str, Any]]:
    names = _dictionary(document.catalog.get("Names"))
    # A tree: nodes have further nodes or pairs of a name and a file.
    waiting: list[Any] = [names.get("EmbeddedFiles")]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = _dictionary(waiting.pop())
        for specification in _list(node.get("Names"))[1::2]:
            yield _dictionary(specification)
        waiting += reversed(_list(node.get("Kids")))


def _of_page(document: PDFDocument, index: int) -> Iterator[dict[str, Any]]:
    page = next(islice(PDFPage.create_pages(document), index, None), None)
    for annotation in _list(page.annots if page is not None else None):
        entries = _dictionary(annotation)
        if _literal(entries.get("Subtype")) == "FileAttachment":
            yield _dictionary(entries.get("FS"))


def _stream(specification: dict[str, Any]) -> PDFStream | None:
    files = _dictionary(specification.get("EF"))
    found = (resolve1(files[key]) for key in ("UF", "F", "DOS", "Mac", "Unix") if key in files)
    return next((stream for stream in found if isinstance(stream, PDFStream)), None)


def _name(specification: dict[str, Any]) -> str:
    named: list[Any] = [resolve1(specification.get(key)) for key in ("UF", "F", "DOS", "Unix")]
    raw = next((name for name in named if name), b"")
    return _plain(decode_text(raw) if isinstance(raw, bytes) else str(raw))


def _plain(name: str) -> str:
    """A name without folders: it must not lead anywhere."""
    return readable(name).replace("\\", "/").rsplit("/", 1)[-1] or "unnamed"


def _kind(name: str) -> str:
    return mimetypes.guess_type(name)[0] or _ANY


def _dictionary(value: Any) -> dict[str, Any]:
    found = resolve1(value)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    found = resolve1(value)
    return cast("list[Any]", found) if isinstance(found, list) else []


def _literal(value: Any) -> str:
    found = resolve1(value)
    return found.name if isinstance(found, PSLiteral) and isinstance(found.name, str) else ""


# ------------------------------------------------------------------------------------------------------------ unpacking


def _size(stream: PDFStream) -> int:
    """The bytes of a file; 0 if it cannot be unpacked."""
    try:
        return len(_unpacked(stream, MAX_FILE + 1))
    except Exception as error:  # as above; the other files can be read
        _logger.debug("an attached file cannot be read: %s", type(error).__name__)
        return 0


def _unpacked(stream: PDFStream, limit: int) -> bytes:
    """The bytes of a file, at most `limit`.

    Raises:
        ValueError: it is packed in a way that no program uses for files.
    """
    data = stream.rawdata or b""
    if stream.decipher is not None and stream.objid is not None and stream.genno is not None:
        data = stream.decipher(stream.objid, stream.genno, data, stream.attrs)
    filters = stream.get_filters()
    if len(filters) > _MAX_STREAMS or any(_literal(name) not in _FLATE for name, _ in filters):
        raise ValueError("it is packed in an unknown way")
    for _ in filters:
        data = zlib.decompressobj().decompress(data, limit)
    return data[:limit]
