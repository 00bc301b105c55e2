"""What an Office file says about itself, in the parts that all kinds of them have."""

from __future__ import annotations

import re

from a2c_documents.model import Facts
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import local, words_of

_DEFAULT_TITLES = ("powerpoint presentation", "presentation title", "slide 1")
"""What programs put where nobody gave a title."""


def core_facts(package: Package) -> Facts:
    """Title, author, keywords, summary and date; empty where the file does not say, or not so that it can be read."""
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
    """The title, unless a program put it where nobody gave one."""
    return "" if words.lower() in _DEFAULT_TITLES else words


def keywords_of(words: str) -> list[str]:
    """Keywords as people separate them: by commas or semicolons, else not at all."""
    return [word.strip() for word in re.split(r"[,;，；、]", words) if word.strip()]


def summary_of(subject: str, description: str) -> str:
    """What a file is about, and what somebody wrote about it."""
    return ". ".join(filter(None, (subject, description)))
