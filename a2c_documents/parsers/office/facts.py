"""Facts that files state about themselves: title, author, keywords, summary and date, for each family of formats."""

from __future__ import annotations

import codecs
import re
import struct
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from a2c_documents.model import Facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import attribute, local, whole, words_of

_DEFAULT_TITLES = ("powerpoint presentation", "presentation title", "slide 1")
"""Titles that programs write by default; they are not shown."""


def core_facts(package: Package) -> Facts:
    """Facts of an Office file (docx, xlsx, pptx); empty where they are missing or damaged."""
    root = package.optional(package.related("", "core-properties") or "docProps/core.xml")
    known: dict[str, str] = {}
    for node in root if root is not None else ():
        known.setdefault(local(node), words_of(node))
    return Facts(
        title=title_of(known.get("title", "")),
        author=known.get("creator", ""),
        keywords=keywords_of(known.get("keywords", "")),
        summary=summary_of(known.get("subject", ""), known.get("description", "")),
        created=known.get("created", ""),
    )


def title_of(words: str) -> str:
    """The title, unless a program wrote it by default."""
    return "" if words.lower() in _DEFAULT_TITLES else words


def keywords_of(words: str) -> list[str]:
    """Keywords separated by commas or semicolons."""
    return [word.strip() for word in re.split(r"[,;，；、]", words) if word.strip()]


def summary_of(subject: str, description: str) -> str:
    """Subject and description as one text."""
    return ". ".join(filter(None, (subject, description)))


# ---------------------------------------------------------------------------------------------------- files before 2007


SUMMARY_STREAM = "\x05summaryinformation"
_CODE_PAGE, _TITLE, _SUBJECT, _AUTHOR, _KEYWORDS, _COMMENTS, _CREATED = 1, 2, 3, 4, 5, 6, 12
_WORDS, _WIDE_WORDS, _TIME, _SHORT = 30, 31, 64, 2
_CODE_PAGES = {
    1200: "utf-16-le", 1201: "utf-16-be", 10000: "mac_roman", 10006: "mac_greek", 10007: "mac_cyrillic",
    10029: "mac_latin2", 10079: "mac_iceland", 10081: "mac_turkish", 20866: "koi8_r", 28591: "latin-1", 65001: "utf-8",
}  # fmt: skip
"""Code pages that Python does not know by their number."""
_MAX_PROPERTIES, _MAX_WORDS = 100, 4_000


def summary_facts(stream: bytes) -> Facts:
    """Facts of a file before 2007, from its stream of properties; empty where they are missing or damaged."""
    try:
        known = _properties(stream)
    except (struct.error, ValueError):
        return Facts()
    return Facts(
        title=title_of(known.get(_TITLE, "")),
        author=known.get(_AUTHOR, ""),
        keywords=keywords_of(known.get(_KEYWORDS, "")),
        summary=summary_of(known.get(_SUBJECT, ""), known.get(_COMMENTS, "")),
        created=known.get(_CREATED, ""),
    )


def _encoding(page: int) -> str:
    """The encoding of a code page. Of an unknown one, only the ASCII characters can be read, which nearly all share."""
    try:
        return codecs.lookup(_CODE_PAGES.get(page, f"cp{page}")).name
    except LookupError:
        return "ascii"


def _properties(stream: bytes) -> dict[int, str]:
    if len(stream) < 48:
        return {}
    # The stream starts with a header, whose last field is the position of the section. A section lists the id and
    # position of each property; a property is a type and a value.
    (start,) = struct.unpack_from("<I", stream, 44)
    (count,) = struct.unpack_from("<I", stream, start + 4)
    places = [struct.unpack_from("<II", stream, start + 8 + 8 * at) for at in range(min(count, _MAX_PROPERTIES))]
    kinds = {name: (struct.unpack_from("<I", stream, start + place)[0], start + place + 4) for name, place in places}
    encoding = "cp1252"
    if _CODE_PAGE in kinds and kinds[_CODE_PAGE][0] == _SHORT:
        (page,) = struct.unpack_from("<H", stream, kinds[_CODE_PAGE][1])
        encoding = _encoding(page)
    found: dict[int, str] = {}
    for name, (kind, place) in kinds.items():
        if kind in (_WORDS, _WIDE_WORDS):
            (size,) = struct.unpack_from("<I", stream, place)
            # The size counts characters in one type of text and bytes in the other, and it comes from the file.
            size = min(size * (2 if kind == _WIDE_WORDS else 1), _MAX_WORDS)
            raw = stream[place + 4 : place + 4 + size]
            words = raw.decode("utf-16-le" if kind == _WIDE_WORDS else encoding, "replace").partition("\0")[0]
            found[name] = words.strip()
        elif kind == _TIME:
            (ticks,) = struct.unpack_from("<Q", stream, place)
            # As everywhere in Windows, the time counts tenths of a microsecond since 1601. An invalid one can be after
            # the year 9999, and must not cost the other facts.
            with suppress(OverflowError):
                moment = datetime(1601, 1, 1) + timedelta(microseconds=ticks // 10)
                found |= {name: moment.isoformat(timespec="seconds") + "Z"} if ticks else {}
    return found


# --------------------------------------------------------------------------------------------------------- OpenDocument


_COUNTS = {"printed_pages": "page-count", "words": "word-count"}


def opendocument_facts(package: Package) -> Facts:
    """Facts of an OpenDocument file; empty where they are missing or damaged."""
    root = package.optional("meta.xml")
    known: dict[str, str] = {}
    keywords: list[str] = []
    details: dict[str, Any] = {}
    for node in root.iterfind(".//{*}meta/*") if root is not None else ():
        name = local(node)
        if name == "keyword":
            keywords.extend(keywords_of(words_of(node)))
        elif name == "document-statistic":
            details = {key: count for key, told in _COUNTS.items() if (count := whole(attribute(node, told)))}
        else:
            known.setdefault(name, words_of(node))
    return Facts(
        title=title_of(known.get("title", "")),
        # `creator` is the person that saved the file last.
        author=known.get("initial-creator", "") or known.get("creator", ""),
        keywords=keywords,
        summary=summary_of(known.get("subject", ""), known.get("description", "")),
        # Some programs write nine digits of a second.
        created=known.get("creation-date", "").partition(".")[0],
        details=details,
    )
