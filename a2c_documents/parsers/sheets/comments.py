"""Comments on the cells of a sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from a2c_documents.model import Element
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import first, found, words_of
from a2c_documents.parsers.sheets.grid import cell_of
from a2c_documents.parsers.sheets.markup import is_on, runs_of, unescaped

MAX_COMMENTS = 2_000


def comments_of(package: Package, name: str) -> Iterator[tuple[int, int, Element]]:
    """The comments in a part of the older kind, each with its cell.

    Raises:
        DamagedPartError: the part is damaged.
    """
    tree = package.xml(name)
    people = dict(enumerate((node.text or "").strip() for node in found(tree, "author")))
    for node in islice(found(tree, "comment"), MAX_COMMENTS):
        author = node.get("authorId", "")
        words = unescaped(runs_of(first(node, "text"))).strip()
        # Comments of this kind have no replies, and no id that replies could name.
        comment = Comment("", words, people.get(int(author), "") if author.isdigit() else "")
        yield from comment_elements([comment], node.get("ref", ""))


def threaded_comments_of(package: Package, name: str) -> Iterator[tuple[int, int, Element]]:
    """The threads in a part of the newer kind, each comment with its cell.

    Raises:
        DamagedPartError: the part is damaged.
    """
    # Comments name their author by an id. Without the list of persons, they are shown without authors.
    people = package.optional("xl/persons/person.xml")
    names = {node.get("id", ""): node.get("displayName", "") for node in found(people, "person")}
    by_cell: dict[str, list[Comment]] = {}
    for node in islice(found(package.xml(name), "threadedComment"), MAX_COMMENTS):
        comment = Comment(
            node.get("id", ""),
            unescaped(words_of(first(node, "text"))),
            names.get(node.get("personId", ""), ""),
            node.get("dT", ""),
            node.get("parentId", ""),
            is_on(node.get("done", "")),
        )
        by_cell.setdefault(node.get("ref", ""), []).append(comment)
    for ref, comments in by_cell.items():
        yield from comment_elements(comments, ref)


def comment_elements(comments: Sequence[Comment], ref: str) -> Iterator[tuple[int, int, Element]]:
    """The comments on one cell."""
    place = cell_of(ref)
    if place is None:
        return
    for thread in threads([one for one in comments if one.words]):
        for element in thread_elements(thread, cell=ref):
            element.metadata["source_range"] = ref
            yield *place, element
