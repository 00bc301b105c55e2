"""Mail: one page with who wrote to whom, what, and what is attached. Messages inside a message follow below."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from pathlib import Path

from a2c_documents.model import (
    Element,
    Facts,
    Page,
    PagesSource,
    Source,
    UnreadableFileError,
    heading,
    note,
    table,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.opening import opening
from a2c_documents.parsers.common.reading import check_text, read_bytes
from a2c_documents.parsers.mail.attachments import Attachments, file_of
from a2c_documents.parsers.mail.body import body_elements
from a2c_documents.parsers.mail.parts import content_id, date_of, header, message_from
from a2c_documents.parsers.mail.structure import Parts, parts_of

MAX_MAIL = 64_000_000
MAX_MESSAGES = 50
_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date")


def open_mail(path: Path) -> Source:
    """A mail.

    Raises:
        UnreadableFileError: it is empty, too large, or no mail.
    """
    raw = read_bytes(path, "mail", MAX_MAIL)
    check_text(raw, "mail")
    message = message_from(raw)
    if message is None:
        raise UnreadableFileError("this is no mail: it does not begin with the lines of one (From, To, Subject …)")
    subject = header(message, "Subject")
    reader = _Reader()
    elements = list(reader.read(message))
    facts = Facts(
        title=subject,
        author=header(message, "From"),
        keywords=[word for part in header(message, "Keywords").split(",") if (word := part.strip())],
        summary=reader.summary,
        created=date_of(message),
    )
    return PagesSource(facts, paginate([Page(subject, elements)]))


class _Reader:
    """Goes through a message, and through those inside it."""

    def __init__(self) -> None:
        self.summary = ""
        """What the first message that has words says first."""
        self._attachments = Attachments()

    def read(self, first: Message) -> Iterator[Element]:
        """The elements, in the order in which the messages are met."""
        waiting: list[tuple[Message, int]] = [(first, 1)]
        shown = 0
        while waiting:
            message, level = waiting.pop()
            shown += 1
            if shown > MAX_MESSAGES:
                yield note("annotation", "Further messages inside this one are not shown.")
                return
            parts = parts_of(message)
            yield from self._message(message, parts, level)
            waiting += [(inner, level + 1) for inner in reversed(parts.messages)]

    def _message(self, message: Message, parts: Parts, level: int) -> Iterator[Element]:
        subject = header(message, "Subject")
        if subject or level > 1:
            yield heading(subject or "Message without a subject", level)
        rows = [[name, value] for name in _SHOWN if (value := header(message, name))]
        if rows:
            yield table(["Field", "Value"], rows)
        if parts.encrypted:
            yield note("annotation", "The text of this message is encrypted and cannot be read.")
        body = [element for words in parts.words for element in body_elements(words)]
        self.summary = self.summary or opening(body, subject)
        in_text = _with_pictures(body, {content_id(part): part for part in parts.attached})
        yield from body
        for part in parts.attached:
            yield from self._attachments.elements(part, is_in_text=content_id(part) in in_text)
        if parts.left_out:
            yield note("annotation", "Further parts of this message are not shown.")


def _with_pictures(body: list[Element], by_id: dict[str, Message]) -> set[str]:
    """Give the pictures in a text, which are attached, what they show; which they are."""
    found: set[str] = set()
    for element in body:
        name = str(element.content.get("url", "")).removeprefix("cid:") if element.category == "image" else ""
        if name and name in by_id:
            element.picture, element.content["url"] = file_of(by_id[name]), ""
            found.add(name)
    return found
