"""Mail: one page with the headers, the text and the attachments. Forwarded messages follow below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import Message
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, heading, note, table
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import check_text, read_bytes
from a2c_documents.parsers.common.plain_text import opening, paragraphs, split_lines
from a2c_documents.parsers.html.web_page import html_elements
from a2c_documents.parsers.mail.attachments import Attachments, file_of
from a2c_documents.parsers.mail.message import (
    Parts,
    Words,
    content_id,
    date_of,
    header,
    message_from,
    parts_of,
    payload,
    words_of,
)

MAX_MAIL = 64_000_000
MAX_MESSAGES = 50
_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Start", "End", "Location")
"""The last three are those of appointments in Outlook."""


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
    return mail_source(message)


def mail_source(message: Message) -> Source:
    """A message as a document."""
    subject = header(message, "Subject")
    reader = MailReader()
    elements = list(reader.read(message))
    facts = Facts(
        title=subject,
        author=header(message, "From"),
        keywords=[word for part in header(message, "Keywords").split(",") if (word := part.strip())],
        summary=reader.summary,
        created=date_of(message),
    )
    return PagesSource(facts, paginate([Page(subject, elements)]))


class MailReader:
    """Reads a message, and the messages inside it."""

    def __init__(self) -> None:
        self.summary = ""
        """The opening words of the first message that has any."""
        self._attachments = Attachments()

    def read(self, first: Message) -> Iterator[Element]:
        """The elements of all messages. A message comes before those inside it."""
        # A stack instead of recursion, because messages may be nested to any depth.
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
        # A picture that the text shows still has its link, but is not shown a second time.
        for part in parts.attached:
            yield from self._attachments.elements(part, is_in_text=content_id(part) in in_text)
        if parts.left_out:
            yield note("annotation", "Further parts of this message are not shown.")


def _with_pictures(body: list[Element], by_id: dict[str, Message]) -> set[str]:
    """Connect the images of a text (`cid:…`) with the attached pictures. Returns the ids of those found."""
    found: set[str] = set()
    for element in body:
        name = str(element.content.get("url", "")).removeprefix("cid:") if element.category == "image" else ""
        if name and name in by_id:
            element.picture, element.content["url"] = file_of(by_id[name]), ""
            found.add(name)
    return found


# ----------------------------------------------------------------------------------------------------------------- body


_STRUCTURE = frozenset(("heading", "list", "table", "code", "image", "formula", "form"))
MAX_HTML = 5_000_000
"""Characters of a message in HTML."""
_EXCUSE = 200
"""Characters of a plain text that may only say that this mail has to be viewed as HTML."""


def body_elements(words: Words) -> Iterator[Element]:
    """The elements of one text, without line numbers, which would count from its part and not from the file."""
    # Most mail programs send a text twice, as plain text and as HTML. The plain text has the words without the layout
    # of newsletters and signatures, so it is preferred unless the HTML contains more.
    plain = "\n\n".join(filter(None, (words_of(part).strip("\r\n") for part in words.plain)))
    shown = list(paragraphs(split_lines(plain), suffix="eml")) if plain.strip() else []
    rich = [element for part in words.html for element in _from_html(part)]
    rich = rich or [element for part in words.rich for element in _from_rtf(part)]
    for element in rich if not shown or _says_more(rich, shown, plain) else shown:
        element.metadata.pop("lines", None)
        yield element


def _from_html(part: Message) -> list[Element]:
    markup = words_of(part)
    remark = [note("annotation", "This message goes on.")] if len(markup) > MAX_HTML else []
    try:
        return html_elements(markup[:MAX_HTML]) + remark
    except UnreadableFileError as error:
        return [note("annotation", f"A part of this message cannot be shown: {error}.")]


def _from_rtf(part: Message) -> list[Element]:
    from a2c_documents.parsers.rtf import rtf_elements  # few messages need it, and its library

    try:
        return rtf_elements(payload(part))
    except UnreadableFileError as error:
        return [note("annotation", f"A part of this message cannot be shown: {error}.")]


def _says_more(rich: Sequence[Element], poor: Sequence[Element], plain: str) -> bool:
    """Whether the HTML contains more than the words of the plain text."""
    said, length = _length(rich), _length(poor)
    if length < _EXCUSE and said > 10 * length:
        return True
    if said * 2 < length:  # the words are in a picture, or the HTML is damaged
        return False
    structure, known = _structure(rich), _structure(poor)
    return any(structure[category] > known[category] for category in _STRUCTURE) or _has_new_links(rich, plain)


def _structure(elements: Sequence[Element]) -> Counter[str]:
    """The number of elements that plain text cannot show. Pictures on the web are mostly logos, and do not count."""
    return Counter(
        element.category
        for element in elements
        if element.category != "image" or element.picture or str(element.content.get("url", "")).startswith("cid:")
    )


def _has_new_links(rich: Sequence[Element], plain: str) -> bool:
    """Whether there are links that the plain text does not write out."""
    links = [element.content for element in rich if element.category == "link"]
    links += [link for element in rich for link in element.metadata.get("links", ())]
    urls = (str(link["url"]) for link in links)
    return any(url.startswith(("http:", "https:")) and url.rstrip("/") not in plain for url in urls)


def _length(elements: Sequence[Element]) -> int:
    return sum(len(str(value)) for element in elements for value in element.content.values())
