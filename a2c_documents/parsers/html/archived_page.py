"""Web pages saved as one file (mhtml): the page, and the pictures that are saved with it."""

from __future__ import annotations

from email.message import Message
from functools import partial
from pathlib import Path

from a2c_documents.model import Facts, PagesSource, Source, UnreadableFileError
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import check_text, read_bytes
from a2c_documents.parsers.common.markup import by_heading, title_of
from a2c_documents.parsers.common.portions import in_portions
from a2c_documents.parsers.html.web_page import html_elements
from a2c_documents.parsers.mail.message import content_id, date_of, header, message_from, payload, words_of

MAX_PAGE = 64_000_000
MAX_PARTS = 10_000


def open_archived_page(path: Path) -> Source:
    """A saved web page.

    Raises:
        UnreadableFileError: it is damaged, too large, or contains no page.
    """
    raw = read_bytes(path, "saved web page", MAX_PAGE)
    check_text(raw, "saved web page")
    message = message_from(raw)
    parts = list(_parts(message)) if message is not None else []
    page = next((part for part in parts if part.get_content_type() in ("text/html", "application/xhtml+xml")), None)
    if message is None or page is None:
        raise UnreadableFileError("this is no saved web page: it contains no HTML")
    elements = html_elements(words_of(page))
    by_name = {name: part for part in parts for name in (content_id(part), header(part, "Content-Location")) if name}
    for element in elements:
        name = str(element.content.get("url", "")) if element.category == "image" else ""
        part = by_name.get(name.removeprefix("cid:"))
        if part is not None and part.get_content_type().startswith("image/"):
            element.picture = partial(_picture, part)
    address = header(page, "Content-Location") or header(message, "Snapshot-Content-Location")
    facts = Facts(
        title=header(message, "Subject") or title_of(elements),
        created=date_of(message),
        details={"address": address} if address else {},
    )
    return PagesSource(facts, paginate(in_portions(by_heading(elements, facts.title))))


def _parts(message: Message) -> list[Message]:
    found: list[Message] = []
    for part in message.walk():
        if len(found) >= MAX_PARTS:
            break
        found.append(part)
    return found


def _picture(part: Message) -> tuple[str, bytes]:
    return part.get_content_type(), payload(part)
