"""Styles of OpenDocument: where pages break, which lists are numbered, what is a title or code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from a2c_smcp.documents.parsers.office.xml import attribute, local, whole
from a2c_smcp.documents.parsers.word.lists import numeral
from a2c_smcp.documents.parsers.word.styles import kind_of

_NUMERALS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class Styles:
    """Styles by name, from the styles and from the content: what one leaves open comes from its parent."""

    def __init__(self, roots: Iterable[Any | None]) -> None:
        self._styles: dict[str, Any] = {}
        self._lists: dict[str, dict[int, Any]] = {}
        for root in roots:
            for node in root.iter("{*}style", "{*}list-style") if root is not None else ():
                name = attribute(node, "name")
                if local(node) == "list-style":
                    self._lists[name] = {whole(attribute(level, "level"), 1): level for level in node}
                elif attribute(node, "family") in ("paragraph", "graphic", "presentation", "table"):
                    self._styles[name] = node

    def _chain(self, name: str) -> Iterable[Any]:
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = attribute(self._styles[name], "parent-style-name")

    def kind(self, name: str) -> str:
        """title, subtitle, caption, code; or nothing special."""
        for style in self._chain(name):
            shown = (attribute(style, "display-name") or attribute(style, "name")).replace("_20_", " ").casefold()
            if shown in ("illustration", "figure", "drawing") or shown.endswith("caption"):
                return "caption"
            if (kind := kind_of(shown)[0]) in ("title", "subtitle", "caption", "code"):
                return kind
        return ""

    def breaks(self, name: str) -> tuple[bool, bool]:
        """Whether a new page begins before and after a paragraph."""
        before = after = ""
        for style in self._chain(name):
            if attribute(style, "master-page-name") and not before:
                before = "page"
            for node in style:
                if local(node) in ("paragraph-properties", "table-properties"):
                    before = before or attribute(node, "break-before")
                    after = after or attribute(node, "break-after")
        return before == "page", after == "page"

    def master(self, name: str) -> str:
        """The page style that begins with a paragraph."""
        return next((found for style in self._chain(name) if (found := attribute(style, "master-page-name"))), "")

    def shown_name(self, name: str) -> str:
        """The name of a style as people know it; of one that was made on the way, its parent's."""
        chain = list(self._chain(name))
        styles = [style for style in chain if local(style.getparent()) != "automatic-styles"] or chain
        shown = attribute(styles[0], "display-name") or attribute(styles[0], "name") if styles else name
        return shown.replace("_20_", " ")

    def has_rule(self, name: str) -> bool:
        """Whether an empty paragraph is a line across the page."""
        for style in self._chain(name):
            for node in style:
                drawn = attribute(node, "border-bottom") or attribute(node, "border-top")
                if local(node) == "paragraph-properties" and drawn:
                    return drawn != "none"
        return False

    def ordered(self, list_style: str, depth: int) -> bool:
        """Whether a level of a list is numbered."""
        level = self._lists.get(list_style, {}).get(depth + 1)
        return level is not None and local(level) == "list-level-style-number" and bool(attribute(level, "num-format"))

    def start(self, list_style: str, depth: int) -> int:
        """The first number of a level."""
        level = self._lists.get(list_style, {}).get(depth + 1)
        return whole(attribute(level, "start-value") or 1, 1) if level is not None else 1

    def label(self, list_style: str, depth: int, number: int) -> str:
        """A number as a list shows it."""
        level = self._lists.get(list_style, {}).get(depth + 1)
        if level is None:
            return f"{number}."
        digits = numeral(number, _NUMERALS.get(attribute(level, "num-format"), "decimal"))
        return f"{attribute(level, 'num-prefix')}{digits}{attribute(level, 'num-suffix')}"
