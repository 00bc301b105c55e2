"""What a message is made of: its words in one shape or several, what is attached, and the messages inside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.message import Message

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.mail.parts import children, file_name, message_from, payload

MAX_PARTS = 2_000
_TEXTS = ("text/plain", "text/html")
_SECRET = frozenset(("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"))


@dataclass(slots=True)
class Words:
    """One text. Where a message says it twice, both shapes are here."""

    plain: list[Message] = field(default_factory=list[Message])
    html: list[Message] = field(default_factory=list[Message])


@dataclass(slots=True)
class Parts:
    """What a message holds."""

    words: list[Words] = field(default_factory=list[Words])
    attached: list[Message] = field(default_factory=list[Message])
    messages: list[Message] = field(default_factory=list[Message])
    encrypted: bool = False
    left_out: bool = False
    """There are more than anybody would look at."""


def parts_of(message: Message) -> Parts:
    """Sort what a message is made of; the tree is walked with a stack of our own."""
    found = Parts()
    waiting: list[tuple[Message, Words | None]] = [(message, None)]
    count = 0
    while waiting and count < MAX_PARTS:
        part, shapes = waiting.pop()
        count += 1
        kind, inner = part.get_content_type(), children(part)
        if kind in _SECRET and "signed" not in str(part.get_param("smime-type") or ""):
            found.encrypted = True
        is_file = bool(file_name(part)) or part.get_content_disposition() == "attachment"
        if kind.startswith("message/") and inner:
            found.messages += inner if kind == "message/rfc822" else []
            if is_file or kind != "message/rfc822":  # what a mail server reports is no message
                found.attached.append(part)
        elif inner:
            if kind == "multipart/alternative" and shapes is None:
                found.words.append(shapes := Words())
            waiting += [(child, shapes) for child in reversed(inner)]
        elif kind in _TEXTS and not is_file:
            if shapes is None:
                found.words.append(shapes := Words())
            (shapes.plain if kind == "text/plain" else shapes.html).append(part)
        elif is_file or payload(part):
            found.attached.append(part)
            found.messages += _message_in(part)
    found.left_out = bool(waiting)
    return found


def _message_in(part: Message) -> list[Message]:
    """The message that a file is, whatever type it was sent as."""
    if not file_name(part).lower().endswith(".eml"):
        return []
    try:
        message = message_from(payload(part))
    except UnreadableFileError:  # the file itself can still be had
        return []
    return [message] if message is not None else []
