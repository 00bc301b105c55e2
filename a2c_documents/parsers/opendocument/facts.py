"""What an OpenDocument file says about itself, be it a text, slides or sheets."""

from __future__ import annotations

from typing import Any

from a2c_documents.model import Facts
from a2c_documents.parsers.office.facts import keywords_of, summary_of, title_of
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import attribute, local, whole, words_of

_COUNTS = {"printed_pages": "page-count", "words": "word-count"}


def facts_of(package: Package) -> Facts:
    """Title, author and the like; empty where the file does not say, or not so that it can be read."""
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
        author=known.get("initial-creator", "") or known.get("creator", ""),
        keywords=keywords,
        summary=summary_of(known.get("subject", ""), known.get("description", "")),
        # Writers add parts of a second to nine places, which is no help to anybody.
        created=known.get("creation-date", "").partition(".")[0],
        details=details,
    )


def is_encrypted(package: Package) -> bool:
    """Whether the parts of a file can only be read with a password."""
    manifest = package.optional("META-INF/manifest.xml")
    return manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None
