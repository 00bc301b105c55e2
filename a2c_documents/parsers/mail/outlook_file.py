"""Outlook messages (msg): translated into a message as mail servers send it, and read like one."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterator
from email.message import Message
from email.utils import format_datetime, formataddr
from pathlib import Path

from a2c_documents.model import Source, UnreadableFileError
from a2c_documents.parsers.common.decoding import decode, decode_as
from a2c_documents.parsers.mail.mail_file import MAX_MESSAGES, mail_source
from a2c_documents.parsers.mail.mapi import OutlookFile, Properties, whole_message
from a2c_documents.parsers.mail.message import message_from
from a2c_documents.parsers.mail.rtf_body import html_in, unpacked

MAX_FILE = 200_000_000
MAX_ATTACHMENTS = 500
_DEEPEST = 20
_MESSAGE, _SIGNED, _ANY = 5, "multipart/signed", "application/octet-stream"
_APPOINTMENT = bytes.fromhex("0220060000000000c000000000000046")
_PUBLIC = 2
"""Sets of named properties: those of appointments, and those that every program may use."""
_KINDS = {1: "To", 2: "Cc", 3: "Bcc"}


def open_outlook(path: Path) -> Source:
    """A message.

    Raises:
        UnreadableFileError: it is damaged, too large, or no message.
    """
    size = path.stat().st_size
    if size > MAX_FILE:
        raise UnreadableFileError(f"this Outlook file is larger than {MAX_FILE // 1_000_000} MB, which is too much")
    file = OutlookFile(path)
    try:
        if ("__PROPERTIES_VERSION1.0",) not in file.kinds:
            raise UnreadableFileError("this is no Outlook message, or its beginning is missing")
        return mail_source(_Translation().message(whole_message(file)))
    finally:
        file.close()


class _Translation:
    """Translates a message and the messages in it, up to a number of them."""

    def __init__(self) -> None:
        self._messages = 0

    def message(self, source: Properties, depth: int = 0) -> Message:
        """A message with its text and attachments."""
        self._messages += 1
        made = Message()
        made["Content-Type"] = "multipart/mixed"
        for name, value in _headers(source):
            if value:
                made[name] = " ".join(value.split())
        made.set_payload([_body(source)])
        for number, attachment in enumerate(source.inside("__attach_version1.0_#")):
            if number >= MAX_ATTACHMENTS:
                made.attach(_words(f"Further attachments than {MAX_ATTACHMENTS} are not shown.", "plain"))
                break
            if (part := self._attached(attachment, depth)) is not None:
                made.attach(part)
        return made

    def _attached(self, source: Properties, depth: int) -> Message | None:
        inner = source.message() if source.number(0x3705) in (0, _MESSAGE) else None
        if inner is not None:
            if depth >= _DEEPEST or self._messages > MAX_MESSAGES:
                return None
            made = Message()
            made["Content-Type"] = "message/rfc822"
            made.set_payload([self.message(inner, depth + 1)])
            return made
        raw = source.bytes(0x3701)
        name = source.text(0x3707, 0x3704, 0x3001) or "unnamed"
        kind = source.text(0x370E).lower()
        if kind == _SIGNED and (signed := message_from(raw)) is not None:
            return signed
        # Outlook sends most files without their type.
        if "/" not in kind or kind == _ANY or kind.startswith(("multipart/", "message/")):
            kind = mimetypes.guess_type(name)[0] or _ANY
        made = _part(kind, raw)
        made.add_header("Content-Disposition", "attachment", filename=" ".join(name.split()))
        # A file that is not in the message, but on a disk or in a cloud: its address is all there is.
        if not raw and (place := source.text(0x370D, 0x3708)):
            made.set_payload("")
            made.replace_header("Content-Disposition", "attachment")
            made.set_param("filename", f"{name} ({place})", "Content-Disposition", charset="utf-8")
        if identity := source.text(0x3712):
            made["Content-ID"] = f"<{' '.join(identity.split())}>"
        return made


# -------------------------------------------------------------------------------------------------------------- headers


def _headers(source: Properties) -> Iterator[tuple[str, str]]:
    yield "Subject", source.text(0x0037, 0x0E1D)
    represented = _address(source.text(0x0042), source.text(0x5D02, 0x0065))
    sender = _address(source.text(0x0C1A), source.text(0x5D01, 0x0C1F))
    yield "From", represented or sender
    if sender and represented and sender != represented:
        yield "Sender", sender
    people = list(source.inside("__recip_version1.0_#"))
    for kind, name in _KINDS.items():
        listed = [
            _address(person.text(0x3001), person.text(0x39FE, 0x3003))
            for person in people
            if (person.number(0x0C15) & 0xF or 1) == kind
        ]
        # Without recipients, the line that Outlook shows has their names.
        yield name, ", ".join(filter(None, listed)) or source.text({"To": 0x0E04, "Cc": 0x0E03, "Bcc": 0x0E02}[name])
    yield "Reply-To", source.text(0x0050)
    yield "Date", _when(source, 0x0039, 0x0E06, 0x3007)
    yield "Start", _when(source, source.named(_APPOINTMENT, 0x820D))
    yield "End", _when(source, source.named(_APPOINTMENT, 0x820E))
    yield "Location", source.text(source.named(_APPOINTMENT, 0x8208))
    yield "Keywords", ", ".join(source.texts(source.named(_PUBLIC, "Keywords")))


def _when(source: Properties, *numbers: int) -> str:
    moment = source.time(*numbers)
    return format_datetime(moment) if moment is not None else ""


def _address(name: str, address: str) -> str:
    """`Ada Lovelace <ada@tea.example>`. Addresses inside a company (`/O=…`) are of no use to a reader."""
    if "@" not in address:
        return name or ("" if address.startswith("/") else address)
    if not name or name.strip("'\"").lower() == address.lower():
        return address
    try:
        return formataddr((name, address))
    except UnicodeError:  # an address with letters beyond ASCII
        return f"{name} <{address}>"


# ----------------------------------------------------------------------------------------------------------------- body


def _body(source: Properties) -> Message:
    """The text in the forms that the message has."""
    made = Message()
    made["Content-Type"] = "multipart/alternative"
    made.set_payload([])
    plain = source.text(0x1000)
    rich = unpacked(source.bytes(0x1009))
    raw = source.bytes(0x1013)
    html = (decode_as(raw, source.encoding)[0] if source.encoding else decode(raw)[0]) if raw else source.text(0x1013)
    html = html or html_in(rich)
    if plain:
        made.attach(_words(plain, "plain"))
    if html:
        made.attach(_words(html, "html"))
    elif rich and not (plain and b"\\fromtext" in rich[:1_000]):
        made.attach(_part("text/rtf", rich))
    return made


def _words(words: str, kind: str) -> Message:
    return _part(f"text/{kind}; charset=utf-8", words.encode("utf-8", "replace"))


def _part(kind: str, raw: bytes) -> Message:
    made = Message()
    made["Content-Type"] = kind
    made["Content-Transfer-Encoding"] = "base64"
    made.set_payload(base64.encodebytes(raw).decode("ascii"))
    return made
