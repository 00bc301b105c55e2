"""What people remarked on slides: comments of the older kind, and threads of the newer one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from a2c_smcp.documents.model import Element, note
from a2c_smcp.documents.parsers.office.package import Package, Relation
from a2c_smcp.documents.parsers.office.xml import DamagedPartError, attribute, words_of
from a2c_smcp.documents.parsers.slides.text import plain


def comments_of(package: Package, name: str, relations: dict[str, Relation]) -> list[Element]:
    """The comments in a part, oldest kind or newest; `relations` are the presentation's, which knows the authors."""
    try:
        root = package.xml(name)
    except DamagedPartError as error:
        return [note("annotation", f"The comments cannot be read: {error}")]
    authors = _authors(package, relations)
    return [element for entry in root.iterfind(".//{*}cm") for element in _thread(entry, authors)]


def _authors(package: Package, relations: dict[str, Relation]) -> dict[str, str]:
    names: dict[str, str] = {}
    for relation in relations.values():
        if relation.kind in ("commentAuthors", "authors"):
            try:
                root = package.xml(relation.target)
            except DamagedPartError:
                continue
            names.update({attribute(one, "id"): attribute(one, "name") for one in root})
    return names


def _thread(entry: Any, authors: dict[str, str]) -> Iterator[Element]:
    """A comment and the replies to it."""
    first = "reply" if entry.find(".//{*}parentCm") is not None else "comment"
    for remark, kind in [(entry, first), *((reply, "reply") for reply in entry.iterfind("{*}replyLst/{*}reply"))]:
        words = plain(remark.find("{*}txBody")) or words_of(remark.find("{*}text"))
        author = authors.get(attribute(remark, "authorId"), "")
        when = attribute(remark, "created") or attribute(remark, "dt")
        if words:
            yield note("annotation", words, kind=kind, author=author, **({"created": when} if when else {}))
