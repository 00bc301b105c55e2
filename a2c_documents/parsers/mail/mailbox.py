"""Mailboxes (mbox): one page for each message, read on request."""

from __future__ import annotations

import mmap
import re
from functools import partial
from pathlib import Path

from a2c_documents.model import Facts, Page, Source, UnreadableFileError, note
from a2c_documents.paging import paginate
from a2c_documents.parsers.mail.mail_file import MAX_MAIL, MailReader
from a2c_documents.parsers.mail.message import header, message_from
from a2c_documents.parsers.office.lazy import Later, LazySource

MAX_MESSAGES = 20_000
_HEAD = 16_384
"""Bytes of a message in which its subject is looked for."""
# A line of a message may begin with "From " as well. A header in the next line shows that a message begins.
_START = re.compile(rb"(?:\A|\n)From [^\r\n]*\r?\n(?=[A-Za-z][A-Za-z0-9-]*:)")


def open_mailbox(path: Path) -> Source:
    """A mailbox.

    Raises:
        UnreadableFileError: it contains no messages.
    """
    file = path.open("rb")
    try:
        # Mailboxes have many gigabytes: the file is mapped, and only its beginnings of messages are parsed.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        file.close()
        raise UnreadableFileError(f"this mailbox cannot be read: {error}") from None

    def close() -> None:
        mapped.close()
        file.close()

    starts = [found.end() for _, found in zip(range(MAX_MESSAGES + 1), _START.finditer(mapped), strict=False)]
    if not starts:
        close()
        raise UnreadableFileError("this is no mailbox: no line begins a message (From …)")
    more = len(starts) > MAX_MESSAGES
    starts = starts[:MAX_MESSAGES]
    ends = [*starts[1:], len(mapped)]
    pages = [
        Later(_subject(mapped[start : min(end, start + _HEAD)], number), partial(_page, mapped, start, end, number))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]
    details = {"messages": len(starts)} | ({"more_messages": True} if more else {})
    return LazySource(Facts(title=path.stem, details=details), pages, close)


def _subject(raw: bytes, number: int) -> str:
    try:
        message = message_from(raw)
    except UnreadableFileError:
        message = None
    return (header(message, "Subject") if message is not None else "") or f"Message {number}"


def _page(mapped: mmap.mmap, start: int, end: int, number: int) -> Page:
    raw = mapped[start : min(end, start + MAX_MAIL)]
    # The line that begins the next message ends this one.
    raw = raw if end == len(mapped) else raw[: raw.rfind(b"\nFrom ") + 1]
    # Programs that write mailboxes put this sign before lines of a message that begin like the next one.
    message = message_from(re.sub(rb"(?m)^>(>*From )", rb"\1", raw))
    title = _subject(raw[:_HEAD], number)
    if message is None:
        return Page(title, [note("annotation", "This message is damaged and cannot be read.")])
    first, *rest = paginate([Page(title, list(MailReader().read(message)))])
    if rest:
        first.elements.append(note("annotation", "This message goes on. It is too long to be shown completely."))
    return Page(title, first.elements)
