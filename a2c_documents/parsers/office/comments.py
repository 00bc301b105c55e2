"""Comments, replies and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from a2c_documents.model import Element, note
from a2c_documents.wording import shortened

MAX_QUOTED = 200
"""Characters of a comment that its replies quote."""


@dataclass(slots=True)
class Comment:
    """A comment in a file; `parent` is the id of the comment that it replies to."""

    id: str
    words: str
    author: str = ""
    date: str = ""
    parent: str = ""
    resolved: bool = False

    def element(self, parent: Comment | None = None, **known: Any) -> Element:
        """The comment as an annotation; a reply names the comment that it answers."""
        told = known | {"author": self.author, "date": self.date, "resolved": self.resolved}
        if parent is not None:
            told["reply_to"] = {"author": parent.author, "text": parent.words[:MAX_QUOTED]}
        content = {key: value for key, value in told.items() if value}
        made = note("annotation", self.words, kind="reply" if parent is not None else "comment", **content)
        who = self.author
        if parent is not None:
            who = " to ".join(filter(None, (self.author or "A reply", parent.author)))
        # Excel repeats the author at the start of the text.
        made.summary = _short(f"{who}: {self.words}" if who and not self.words.startswith(f"{who}:") else self.words)
        return made


def threads(comments: Sequence[Comment]) -> Iterator[list[Comment]]:
    """The comments grouped into threads, in the order of the file: each comment is followed by all its replies."""
    by_id = {comment.id: comment for comment in comments if comment.id}
    found: dict[int, list[Comment]] = {}
    # The key is the object: comments of older formats have no id, and an empty id would make them one thread.
    for comment in comments:
        found.setdefault(id(_root(comment, by_id)), []).append(comment)
    for thread in found.values():
        # Files keep replies in any order, some even before the comment.
        thread.sort(key=lambda comment: (bool(comment.parent), comment.date))
        yield thread


def thread_elements(thread: Sequence[Comment], about: str = "", **known: Any) -> list[Element]:
    """A comment and its replies; only the comment itself carries `about`, the text that it refers to."""
    by_id = {comment.id: comment for comment in thread}
    first, *replies = thread
    answers = (one.element(by_id.get(one.parent, first), **known) for one in replies)
    return [first.element(about=about, **known), *answers]


def speaker_notes(words: str) -> Element:
    """The speaker notes of a slide."""
    made = note("annotation", words, kind="notes")
    made.summary = _short(f"Speaker notes: {words}")
    return made


def _short(words: str) -> str:
    return shortened(" ".join(words.split()))


def _root(comment: Comment, by_id: dict[str, Comment]) -> Comment:
    # Comments of a damaged file can reply to each other in a circle.
    seen = {comment.id}
    while comment.parent in by_id and comment.parent not in seen:
        seen.add(comment.parent)
        comment = by_id[comment.parent]
    return comment
