"""The parts of an encoded message: headers, texts (plain, HTML or both), attachments."""

from __future__ import annotations

import binascii
import codecs
import datetime as dt
import email
import email.policy
from dataclasses import dataclass, field
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from a2c_documents.loose import as_list
from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.common.decoding import clean, decode, decode_as

MAX_HEADER = 20_000
_KNOWN = frozenset(
    ("from", "to", "subject", "date", "received", "message-id", "content-type", "mime-version", "sender")
)


def message_from(raw: bytes) -> Message | None:
    """Parse a message; None if the bytes do not begin with its headers.

    Raises:
        UnreadableFileError: it cannot be parsed.
    """
    try:
        # The oldest policy leaves headers as they are. The newer ones parse each header, and raise errors for malformed
        # ones.
        message = email.message_from_bytes(raw.removeprefix(codecs.BOM_UTF8), policy=email.policy.compat32)
    except (MessageError, RecursionError, ValueError, LookupError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise UnreadableFileError(f"this mail is damaged: {why}") from None
    # Python parses any bytes as a message. One of the usual headers shows that it is one.
    return message if _KNOWN & {name.lower() for name in message} else None


def header(message: Message, name: str) -> str:
    """A header, decoded, in one line."""
    # `message[name]` would turn a header with bytes beyond ASCII into an object that has lost them.
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return readable(str(raw)[:MAX_HEADER])


def readable(raw: str) -> str:
    """A header as text. It may have encoded words, or bytes of any charset."""
    # Some programs write their own charset into headers without encoding it. Bytes beyond ASCII arrive as surrogates,
    # and ISO-2022-JP as escape sequences.
    if any("\udc80" <= character <= "\udcff" for character in raw) or "\x1b" in raw:
        raw = decode(raw.encode("utf-8", "surrogateescape"))[0]
    try:
        parts = decode_header(raw.replace("\r", "").replace("\n", ""))
    except (MessageError, ValueError, binascii.Error):
        parts = [(raw, None)]
    words = [
        part if isinstance(part, str) else decode_as(part, charset or "ascii")[0] if charset else _escaped(part)
        for part, charset in parts
    ]
    return clean(" ".join("".join(words).split()))


def _escaped(part: bytes) -> str:
    # `decode_header` returns the text between encoded words as bytes in this encoding.
    return part.decode("raw-unicode-escape", "replace")


def date_of(message: Message) -> str:
    """When it was sent, as ISO 8601 in UTC; empty if it does not say."""
    try:
        when = parsedate_to_datetime(header(message, "Date"))
        return (when if when.tzinfo else when.replace(tzinfo=dt.UTC)).astimezone(dt.UTC).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def file_name(part: Message) -> str:
    """The name of an attachment, without folders."""
    try:
        name = part.get_filename() or ""
    except (ValueError, TypeError, LookupError, MessageError):
        return ""
    # The sender chooses the name, and a path in it must not lead anywhere.
    return readable(str(name)).replace("\\", "/").rsplit("/", 1)[-1]


def content_id(part: Message) -> str:
    """The id by which the text of a message refers to a part."""
    return header(part, "Content-ID").strip("<> ")


def payload(part: Message) -> bytes:
    """The bytes of a part, as far as they can be decoded."""
    try:
        found = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        found = None
    if isinstance(found, bytes):
        return found
    inner = children(part)
    return b"\n".join(_bytes(child) for child in inner) if inner else b""


def _bytes(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (ValueError, LookupError, RecursionError, TypeError, AttributeError):
        return b""


def children(part: Message) -> list[Message]:
    """The parts of a part, or the message in it."""
    inner: Any = part.get_payload() if part.is_multipart() else None
    found: list[Message] = [child for child in as_list(inner) if isinstance(child, Message)]
    if part.get_content_type() == "message/rfc822" and "base64" in str(part.get("Content-Transfer-Encoding")).lower():
        # The standard forbids base64 for messages, so Python does not decode it. Some servers use it nevertheless.
        decoded = [message_from(_unpacked(child)) for child in found if not child.keys()]
        return [child for child in decoded if child is not None] or found
    return found


def _unpacked(part: Message) -> bytes:
    try:
        return binascii.a2b_base64(payload(part))
    except binascii.Error:
        return b""


def words_of(part: Message) -> str:
    """The text of a part."""
    try:
        charset = str(part.get_content_charset() or "")
    except (ValueError, LookupError):
        charset = ""
    return clean(decode_as(payload(part), charset)[0])


# ------------------------------------------------------------------------------------------------------------ structure


MAX_PARTS = 2_000
_TEXTS = ("text/plain", "text/html", "text/rtf")
_SECRET = frozenset(("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"))


@dataclass(slots=True)
class Words:
    """One text: plain, HTML, rich text, or several of them."""

    plain: list[Message] = field(default_factory=list[Message])
    html: list[Message] = field(default_factory=list[Message])
    rich: list[Message] = field(default_factory=list[Message])


@dataclass(slots=True)
class Parts:
    """The contents of a message."""

    words: list[Words] = field(default_factory=list[Words])
    attached: list[Message] = field(default_factory=list[Message])
    messages: list[Message] = field(default_factory=list[Message])
    encrypted: bool = False
    left_out: bool = False
    """Whether parts were left out because there are too many."""


def parts_of(message: Message) -> Parts:
    """Sort the parts of a message."""
    found = Parts()
    # A stack instead of recursion, because parts may be nested to any depth.
    waiting: list[tuple[Message, Words | None]] = [(message, None)]
    count = 0
    while waiting and count < MAX_PARTS:
        part, shapes = waiting.pop()
        count += 1
        kind, inner = part.get_content_type(), children(part)
        # Signed mail may have the same type as encrypted mail, with another `smime-type`.
        if kind in _SECRET and "signed" not in str(part.get_param("smime-type") or ""):
            found.encrypted = True
        is_file = bool(file_name(part)) or part.get_content_disposition() == "attachment"
        if kind.startswith("message/") and inner:
            found.messages += inner if kind == "message/rfc822" else []
            if is_file or kind != "message/rfc822":  # the report of a mail server is no message
                found.attached.append(part)
        elif inner:
            # Only the parts of an alternative are forms of the same text. Other parts are texts of their own, which are
            # all shown.
            if kind == "multipart/alternative" and shapes is None:
                found.words.append(shapes := Words())
            waiting += [(child, shapes) for child in reversed(inner)]
        elif kind in _TEXTS and not is_file:
            if shapes is None:
                found.words.append(shapes := Words())
            {"text/plain": shapes.plain, "text/html": shapes.html, "text/rtf": shapes.rich}[kind].append(part)
        elif is_file or payload(part):
            found.attached.append(part)
            found.messages += _message_in(part)
    found.left_out = bool(waiting)
    return found


def _message_in(part: Message) -> list[Message]:
    """The message in an attached `.eml` file, whatever type it was sent as."""
    if not file_name(part).lower().endswith(".eml"):
        return []
    try:
        message = message_from(payload(part))
    except UnreadableFileError:  # the attachment itself is still available
        return []
    return [message] if message is not None else []
