"""Files attached to a mail or a PDF: a link to each file, followed by its contents if they are text."""

from __future__ import annotations

import io
import mimetypes
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from a2c_documents.model import Element, Facts, UnreadableFileError, code, image, link, note
from a2c_documents.paging import pieces_of, size_of
from a2c_documents.parsers.common.decoding import check_text
from a2c_documents.parsers.common.plain_text import paragraphs, split_lines
from a2c_documents.parsers.data.data_file import data_elements
from a2c_documents.parsers.delimited import DelimitedSource
from a2c_documents.parsers.html.web_page import html_elements
from a2c_documents.parsers.markdown import markdown_elements, split_front_matter
from a2c_documents.registry import FORMATS, LANGUAGES, suffix_of
from a2c_documents.wording import size_words

MAX_FILE = 25_000_000
"""Bytes of the largest attachment that clients can fetch."""
MAX_READ = 1_000_000
"""Bytes of the largest attachment whose contents are shown."""
MAX_SHOWN = 60_000
"""Bytes of JSON for the contents of all attachments. The rest of the page is for the document itself."""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file inside another one."""

    name: str
    kind: str
    """Its MIME type."""
    size: int
    """0 if it is unknown, or the file cannot be read."""
    data: Callable[[], bytes]
    words: Callable[[], str]
    """Its text, if it is one."""
    is_cut: bool = False
    """Whether it is larger than its size says, which nobody has counted."""

    def fetch(self) -> tuple[str, bytes]:
        """Type and bytes, for a client."""
        return self.kind, self.data()


class Attachments:
    """Makes elements of attached files, which share one limit of size."""

    def __init__(self) -> None:
        self._room = MAX_SHOWN

    def elements(self, file: AttachedFile, *, is_in_text: bool = False) -> Iterator[Element]:
        """A link to the file; then its contents, or the picture, unless the text shows it."""
        about = f"{file.kind}, {'more than ' if file.is_cut else ''}{size_words(file.size)}"
        shown = link(f"{file.name} ({about})", "", name=file.name, mime_type=file.kind, size=file.size)
        shown.summary = f"Attachment {file.name}, {about}"
        if 0 < file.size <= MAX_FILE:
            shown.file = file.fetch
        yield shown
        if file.kind.startswith("image/") and not is_in_text:
            seen = image(file.name)
            seen.picture = file.fetch
            yield seen
        elif 0 < file.size <= MAX_READ and self._room > 0:
            yield from self._fitting(_said(file), file.name)

    def _fitting(self, elements: Iterable[Element], name: str) -> Iterator[Element]:
        """The elements that fit."""
        # Long elements are divided, so that the beginning of one is shown even if all of it does not fit.
        for piece in (piece for element in elements for piece in pieces_of(element, MAX_SHOWN // 2)):
            self._room -= size_of(piece)
            if self._room < 0:
                yield note("annotation", f"The rest of {name} is in the file itself.")
                return
            if piece.category == "heading":  # below the headings of the document
                piece.content["level"] = min(6, piece.content["level"] + 1)
            piece.metadata = {"attachment": name, **piece.metadata}
            yield piece


def _said(file: AttachedFile) -> Iterator[Element]:
    """The contents of a file; nothing if they are not text."""
    kind, suffix = file.kind, suffix_of(Path(file.name))
    # The name comes first: many programs send every file as `application/octet-stream`.
    if suffix not in FORMATS and suffix not in LANGUAGES:
        suffix = (mimetypes.guess_extension(kind) or "").lstrip(".")
    if suffix in FORMATS:
        read = _READERS.get(FORMATS[suffix].module)
    else:
        read = _code if suffix in LANGUAGES else _text if kind.startswith(("text/", "message/")) else None
    if read is None:
        return
    try:
        check_text(file.data(), "text")
        yield from read(file.words(), suffix)
    except UnreadableFileError as error:
        yield note("annotation", f"{file.name} cannot be shown: {error}.")


def _text(words: str, suffix: str) -> Iterable[Element]:
    return paragraphs(split_lines(words), suffix=suffix)


def _code(words: str, suffix: str) -> Iterable[Element]:
    return [code(words.rstrip(), LANGUAGES.get(suffix, ""))]


def _table(words: str, suffix: str) -> Iterable[Element]:
    # Decoded by the charset that a mail declares. A table has no declaration, and would have to guess.
    source = DelimitedSource(io.BytesIO(words.encode()), suffix)
    return (element for index in range(len(source.page_titles)) for element in source.page(index).elements)


def _markdown(words: str, suffix: str) -> Iterable[Element]:
    _, skipped = split_front_matter(words)
    return markdown_elements("\n".join(words.split("\n")[skipped:]), first_line=skipped + 1)


def _html(words: str, suffix: str) -> Iterable[Element]:
    return html_elements(words)


def _data(words: str, suffix: str) -> Iterable[Element]:
    if suffix in ("jsonl", "ndjson"):
        return [code(words.rstrip(), "json")]
    return data_elements(words, "yaml" if suffix == "yml" else suffix, Facts())


_READERS: dict[str, Callable[[str, str], Iterable[Element]]] = {
    "text": _text,
    "delimited": _table,
    "markdown": _markdown,
    "html.web_page": _html,
    "data.data_file": _data,
}
"""By the module that reads such a file as a document. Formats that need a file on disk, such as PDF, are missing."""
