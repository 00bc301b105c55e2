"""Comments in an OpenDocument text, and the words that they are about, which may reach over several paragraphs."""

from __future__ import annotations

from dataclasses import dataclass

from a2c_documents.model import Element
from a2c_documents.parsers.office.comments import Comment, thread_elements, threads
from a2c_documents.parsers.office.story import MAX_ABOUT

MAX_OPEN = 200
"""Comments that are open at once."""


@dataclass(slots=True)
class _Remark:
    comment: Comment
    place: int
    about: str = ""
    element: Element | None = None

    def tell(self) -> str:
        return " ".join(self.about.split())[:MAX_ABOUT]


class Remarks:
    """The comments of a text. Those that began in a paragraph are taken at its end."""

    def __init__(self) -> None:
        self._open: dict[str, _Remark] = {}
        self.new: list[_Remark] = []

    def begin(self, comment: Comment, place: int) -> None:
        """A comment begins; `place` says how far in its paragraph."""
        self.new.append(_Remark(comment, place))
        if comment.id and len(self._open) < MAX_OPEN:
            self._open[comment.id] = self.new[-1]

    def hear(self, words: str) -> None:
        """Words that are said while comments are open."""
        for remark in self._open.values():
            if len(remark.about) < MAX_ABOUT:
                remark.about += words

    def end(self, name: str) -> None:
        """What a comment is about has been said."""
        remark = self._open.pop(name, None)
        if remark is not None and remark.element is not None and (about := remark.tell()):
            remark.element.content["about"] = about

    def take(self) -> list[Element]:
        """The comments of a paragraph; those in one place by their date, for writers put the newest first."""
        taken, self.new = self.new, []
        taken.sort(key=lambda remark: (remark.place, remark.comment.date))
        by_comment = {id(remark.comment): remark for remark in taken}
        found: list[Element] = []
        for thread in threads([remark.comment for remark in taken]):
            first = by_comment[id(thread[0])]
            is_open = first.comment.id in self._open
            made = thread_elements(thread, about="" if is_open else first.tell())
            first.element = made[0]
            found.extend(made)
        return found
