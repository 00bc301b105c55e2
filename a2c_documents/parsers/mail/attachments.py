"""Attachments of a message, as files."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from email.message import Message
from functools import partial

from a2c_documents.model import Element
from a2c_documents.parsers import attached
from a2c_documents.parsers.attached import AttachedFile
from a2c_documents.parsers.mail.message import children, file_name, header, payload, words_of


class Attachments:
    """Makes elements of attachments, which share one limit of size."""

    def __init__(self) -> None:
        self._files = attached.Attachments()

    def elements(self, part: Message, *, is_in_text: bool = False) -> Iterator[Element]:
        """A link to the file; then its contents, or the picture, unless the text shows it."""
        kind, data, words = part.get_content_type(), partial(payload, part), partial(words_of, part)
        file = AttachedFile(attachment_name(part), kind, len(data()), data, words)
        return self._files.elements(file, is_in_text=is_in_text)


def attachment_name(part: Message) -> str:
    """The name of a file; without one, the subject of the message in it, or "unnamed"."""
    if name := file_name(part):
        return name
    subject = next((header(inner, "Subject") for inner in children(part)), "")
    return f"{subject or 'unnamed'}{mimetypes.guess_extension(part.get_content_type()) or ''}"


def file_of(part: Message) -> Callable[[], tuple[str, bytes]]:
    """The type and bytes of a file, decoded on request."""
    return lambda: (part.get_content_type(), payload(part))
