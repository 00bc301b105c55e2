"""The words of a message. Where it has them twice, the shape that says more is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import Message

from a2c_documents.model import Element, UnreadableFileError, note
from a2c_documents.parsers.common.lines import paragraphs, split_lines
from a2c_documents.parsers.html.document import html_elements
from a2c_documents.parsers.mail.parts import words_of
from a2c_documents.parsers.mail.structure import Words

_STRUCTURE = frozenset(("heading", "list", "table", "code", "image", "formula", "form"))
MAX_HTML = 5_000_000
"""Characters of a message in HTML."""
_EXCUSE = 200
"""Characters of a plain text that may only say that the reader's program cannot do better."""


def body_elements(words: Words) -> Iterator[Element]:
    """The elements of one text, without anything about lines: those of a part are not those of the file."""
    plain = "\n\n".join(filter(None, (words_of(part).strip("\r\n") for part in words.plain)))
    shown = list(paragraphs(split_lines(plain), suffix="eml")) if plain.strip() else []
    rich = [element for part in words.html for element in _from_html(part)]
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


def _says_more(rich: Sequence[Element], poor: Sequence[Element], plain: str) -> bool:
    """Whether HTML is more than a wrapper of the same words."""
    said, length = _length(rich), _length(poor)
    if length < _EXCUSE and said > 10 * length:
        return True
    if said * 2 < length:  # a picture of the words, or something broken
        return False
    structure, known = _structure(rich), _structure(poor)
    return any(structure[category] > known[category] for category in _STRUCTURE) or _has_new_links(rich, plain)


def _structure(elements: Sequence[Element]) -> Counter[str]:
    """How often there is what plain words cannot show. A picture from elsewhere is mostly a logo."""
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
