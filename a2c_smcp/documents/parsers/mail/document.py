"""Mail: one page with who wrote to whom, what, and what is attached. Messages inside a message follow below."""

from __future__ import annotations

import email
import email.errors
import email.policy
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path

from a2c_smcp.documents.model import (
    Element,
    Facts,
    Page,
    PagesSource,
    Source,
    UnreadableFileError,
    heading,
    link,
    note,
    table,
)
from a2c_smcp.documents.paging import paginate
from a2c_smcp.documents.parsers.common.reading import check_text, read_bytes
from a2c_smcp.documents.parsers.html.document import html_elements
from a2c_smcp.documents.parsers.mail.parts import (
    children,
    date_of,
    file_name,
    header,
    payload,
    picture_of,
    size_words,
    words_of,
)
from a2c_smcp.documents.parsers.text import paragraphs, split_lines

MAX_MAIL = 64_000_000
MAX_MESSAGES = 50
MAX_PARTS = 2_000
_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date")
_KNOWN = frozenset(
    ("from", "to", "subject", "date", "received", "message-id", "content-type", "mime-version", "sender")
)
_TEXTS = ("text/plain", "text/html")
_SECRET = frozenset(("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"))


@dataclass(slots=True)
class _Parts:
    """What a message holds, apart from the messages in it."""

    plain: list[Message] = field(default_factory=list[Message])
    html: list[Message] = field(default_factory=list[Message])
    attached: list[Message] = field(default_factory=list[Message])
    messages: list[Message] = field(default_factory=list[Message])
    encrypted: bool = False


def open_mail(path: Path) -> Source:
    """A mail.

    Raises:
        UnreadableFileError: it is empty, too large, or no mail.
    """
    raw = read_bytes(path, "mail", MAX_MAIL)
    check_text(raw, "mail")
    try:
        message = email.message_from_bytes(raw.removeprefix(b"\xef\xbb\xbf"), policy=email.policy.compat32)
    except (email.errors.MessageError, RecursionError, ValueError, LookupError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise UnreadableFileError(f"this mail is damaged: {why}") from None
    if not _KNOWN & {name.lower() for name in message}:
        raise UnreadableFileError("this is no mail: it does not begin with the lines of one (From, To, Subject …)")
    subject = header(message, "Subject")
    facts = Facts(
        title=subject,
        author=header(message, "From"),
        keywords=[word for part in header(message, "Keywords").split(",") if (word := part.strip())],
        created=date_of(message),
    )
    return PagesSource(facts, paginate([Page(subject or path.name, list(_elements(message)))]))


def _elements(first: Message) -> Iterator[Element]:
    """Of a message and of those inside it, in the order in which they are met."""
    waiting: list[tuple[Message, int]] = [(first, 1)]
    shown = 0
    while waiting:
        message, level = waiting.pop()
        shown += 1
        if shown > MAX_MESSAGES:
            yield note("annotation", "Further messages inside this one are not shown.")
            return
        parts = _parts(message)
        yield from _message(message, parts, level)
        waiting += [(inner, level + 1) for inner in reversed(parts.messages)]


def _message(message: Message, parts: _Parts, level: int) -> Iterator[Element]:
    subject = header(message, "Subject")
    if subject or level > 1:
        yield heading(subject or "Message without a subject", level)
    rows = [[name, value] for name in _SHOWN if (value := header(message, name))]
    if rows:
        yield table(["Field", "Value"], rows)
    if parts.encrypted:
        yield note("annotation", "The text of this message is encrypted and cannot be read.")
    seen: set[str] = set()
    yield from _body(parts, seen)
    for part in parts.attached:
        yield from _attachment(part, seen)


def _parts(message: Message) -> _Parts:
    """Sort what a message is made of; the tree is walked with a stack of our own."""
    found = _Parts()
    waiting: list[Message] = [message]
    count = 0
    while waiting and count < MAX_PARTS:
        part = waiting.pop()
        count += 1
        kind, inner = part.get_content_type(), children(part)
        if kind in _SECRET and "signed" not in str(part.get_param("smime-type") or ""):
            found.encrypted = True
        if kind == "message/rfc822" and inner:
            found.messages += inner
        elif kind.startswith("message/") and inner:
            found.attached.append(part)  # what a mail server reports
        elif inner:
            waiting += reversed(inner)
        elif kind in _TEXTS and part.get_content_disposition() != "attachment" and not file_name(part):
            (found.plain if kind == "text/plain" else found.html).append(part)
        elif part.get_payload():
            found.attached.append(part)
    return found


def _body(parts: _Parts, seen: set[str]) -> Iterator[Element]:
    """Plain text if it says as much as the HTML; some programs only write there that they cannot do better."""
    plain = "\n\n".join(filter(None, (words_of(part).strip("\r\n") for part in parts.plain)))
    shown = [element for part in parts.html for element in html_elements(words_of(part))] if parts.html else []
    if plain.strip() and not (len(plain) < 200 and sum(len(str(e.content)) for e in shown) > 10 * len(plain)):
        for element in paragraphs(split_lines(plain), suffix="eml"):
            element.metadata = {}  # lines of a part are not lines of the file
            yield element
        return
    by_id = {header(part, "Content-ID").strip("<> "): part for part in parts.attached}
    for element in shown:
        url = str(element.content.get("url", ""))
        if element.category == "image" and url.startswith("cid:") and (part := by_id.get(url[4:])) is not None:
            element.picture = picture_of(part)
            seen.add(url[4:])
        yield element


def _attachment(part: Message, seen: set[str]) -> Iterator[Element]:
    name = file_name(part) or "attachment without a name"
    kind = part.get_content_type()
    size = len(payload(part))
    content_id = header(part, "Content-ID").strip("<> ")
    shown = link(f"{name} ({kind}, {size_words(size)})", "", name=name, mime_type=kind, size=size)
    shown.summary = f"Attachment {name}, {kind}, {size_words(size)}"
    yield shown
    if kind.startswith("image/") and content_id not in seen:
        yield Element("image", {"alt": name, "url": "", "description": ""}, picture=picture_of(part))
