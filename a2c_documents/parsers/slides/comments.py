"""What people remarked on slides: comments of the older kind, and threads of the newer one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from a2c_documents.model import Element, note
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.package import Package, Relation
from a2c_documents.parsers.office.xml import DamagedPartError, attribute, words_of
from a2c_documents.parsers.slides.text import plain


def comments_of(package: Package, name: str, relations: dict[str, Relation]) -> list[Element]:
    """The comments in a part, oldest kind or newest; `relations` are the presentation's, which knows the authors."""
    try:
        root = package.xml(name)
    except DamagedPartError as error:
        return [note("annotation", f"The comments cannot be read: {error}")]
    authors = _authors(package, relations)
    found = [comment for entry in root.iterfind(".//{*}cm") for comment in _comments(entry, authors) if comment.words]
    return [element for thread in threads(found) for element in thread_elements(thread)]


def _authors(package: Package, relations: dict[str, Relation]) -> dict[str, str]:
    names: dict[str, str] = {}
    for relation in relations.values():
        root = package.optional(relation.target) if relation.kind in ("commentAuthors", "authors") else None
        names.update({attribute(one, "id"): attribute(one, "name") for one in root} if root is not None else {})
    return names


def _comments(entry: Any, authors: dict[str, str]) -> Iterator[Comment]:
    """A comment, and the replies inside it; the older kind is known by its author and a number."""
    own = attribute(entry, "id") or _older_id(entry)
    yield _comment(entry, own, _older_id(entry.find(".//{*}parentCm")), authors)
    for reply in entry.iterfind("{*}replyLst/{*}reply"):
        yield _comment(reply, attribute(reply, "id"), own, authors)


def _comment(entry: Any, own: str, parent: str, authors: dict[str, str]) -> Comment:
    words = plain(entry.find("{*}txBody")) or words_of(entry.find("{*}text"))
    date = attribute(entry, "created") or attribute(entry, "dt")
    resolved = attribute(entry, "status") in ("resolved", "closed")
    return Comment(own, words, authors.get(attribute(entry, "authorId"), ""), date, parent, resolved)


def _older_id(entry: Any | None) -> str:
    return f"{attribute(entry, 'authorId')}/{attribute(entry, 'idx')}" if entry is not None else ""
