"""OpenDocument styles: page breaks, numbering, titles, code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from a2c_documents.inline import BOLD, CODE, ITALIC
from a2c_documents.parsers.office.lists import numeral
from a2c_documents.parsers.office.style_names import kind_of
from a2c_documents.parsers.office.xml import Node, attribute, local, whole

OUTLINE = "outline-style"
"""The name for the numbering of headings, which is a list of its own."""
_NUMBERED = ("list-level-style-number", "outline-level-style")
_CODE = ("source text", "teletype", "user entry", "example")
"""Text styles of LibreOffice for code."""
_NUMERALS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class OdfStyles:
    """Styles by name, from the styles part and from the content. A style inherits from its parent."""

    def __init__(self, roots: Iterable[Node | None]) -> None:
        self._styles: dict[str, Node] = {}
        self._text_styles: dict[str, Node] = {}
        self._slide_styles: dict[str, Node] = {}
        self._faces: dict[str, str] = {}
        self._lists: dict[str, dict[int, Node]] = {}
        for root in roots:
            for node in root.iter("{*}style", "{*}list-style", "{*}outline-style") if root is not None else ():
                name = attribute(node, "name")
                if local(node) in ("list-style", "outline-style"):
                    self._lists[OUTLINE if local(node) == "outline-style" else name] = {
                        whole(attribute(level, "level"), 1): level for level in node
                    }
                elif attribute(node, "family") == "text":
                    # Names are unique only within a family.
                    self._text_styles[name] = node
                elif attribute(node, "family") == "drawing-page":
                    self._slide_styles[name] = node
                elif attribute(node, "family") in ("paragraph", "graphic", "presentation", "table"):
                    self._styles[name] = node

    def _chain(self, name: str) -> Iterable[Node]:
        # Styles of a damaged file can be the parents of each other in a circle.
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = attribute(self._styles[name], "parent-style-name")

    def kind(self, name: str) -> str:
        """title, subtitle, caption, code, or empty."""
        for style in self._chain(name):
            # Names are XML names. LibreOffice writes a space in them as `_20_`, and has the display name only where the
            # two differ.
            shown = (attribute(style, "display-name") or attribute(style, "name")).replace("_20_", " ").casefold()
            if shown in ("illustration", "figure", "drawing") or shown.endswith("caption"):
                return "caption"
            if (kind := kind_of(shown)[0]) in ("title", "subtitle", "caption", "code"):
                return kind
        return ""

    def breaks(self, name: str) -> tuple[bool, bool]:
        """Whether a page begins before and after a paragraph."""
        before = after = ""
        for style in self._chain(name):
            # Another page style can only begin on another page, so it implies a break.
            if attribute(style, "master-page-name") and not before:
                before = "page"
            for node in style:
                if local(node) in ("paragraph-properties", "table-properties"):
                    before = before or attribute(node, "break-before")
                    after = after or attribute(node, "break-after")
        return before == "page", after == "page"

    def master(self, name: str) -> str:
        """The page style that starts with a paragraph."""
        return next((found for style in self._chain(name) if (found := attribute(style, "master-page-name"))), "")

    def shown_name(self, name: str) -> str:
        """The display name of a style; for an automatic style, that of its parent."""
        chain = list(self._chain(name))
        # Direct formatting creates an automatic style with a name such as P12. Its parent has the name that the author
        # chose.
        styles = [style for style in chain if not _is_automatic(style)] or chain
        shown = attribute(styles[0], "display-name") or attribute(styles[0], "name") if styles else name
        return shown.replace("_20_", " ")

    def is_hidden(self, text_style: str) -> bool:
        """Whether text of a style is hidden."""
        style = self._text_styles.get(text_style)
        return style is not None and any(attribute(node, "display") == "none" for node in style)

    def marks(self, text_style: str) -> str:
        """The formatting of a text style."""
        if text_style not in self._faces:
            self._faces[text_style] = self._read_marks(text_style)
        return self._faces[text_style]

    def _read_marks(self, name: str) -> str:
        told: dict[str, str] = {}
        seen: set[str] = set()
        while name in self._text_styles and name not in seen:
            seen.add(name)
            style = self._text_styles[name]
            for node in style:
                for key in ("font-weight", "font-style"):
                    if value := attribute(node, key):
                        told.setdefault(key, value)
            if name.replace("_20_", " ").casefold() in _CODE:
                told["code"] = "code"
            name = attribute(style, "parent-style-name")
        weight = told.get("font-weight", "")
        bold = weight == "bold" or (weight.isdigit() and int(weight[:5]) >= 600)
        slanted = told.get("font-style", "") in ("italic", "oblique")
        return BOLD * bold + CODE * ("code" in told) + ITALIC * slanted

    def slide(self, name: str) -> dict[str, str]:
        """The settings of a style for slides: whether they are hidden, and which footers they show."""
        nodes = self._slide_styles.get(name, ())
        return {key.rpartition("}")[2]: str(value) for node in nodes for key, value in node.items()}

    def has_rule(self, name: str) -> bool:
        """Whether an empty paragraph is shown as a horizontal line."""
        for style in self._chain(name):
            for node in style:
                drawn = attribute(node, "border-bottom") or attribute(node, "border-top")
                # LibreOffice has a style for horizontal lines: empty paragraphs with a border.
                if local(node) == "paragraph-properties" and drawn:
                    return drawn != "none"
        return False

    def ordered(self, list_style: str, depth: int) -> bool:
        """Whether a level of a list is numbered."""
        level = self._lists.get(list_style, {}).get(depth + 1)
        # A numbered level with an empty format shows no number.
        return level is not None and local(level) in _NUMBERED and bool(attribute(level, "num-format"))

    def start(self, list_style: str, depth: int) -> int:
        """The first number of a level."""
        level = self._lists.get(list_style, {}).get(depth + 1)
        return whole(attribute(level, "start-value") or 1, 1)

    def label(self, list_style: str, depth: int, numbers: Mapping[int, int]) -> str:
        """The label of an item, from the numbers of all levels."""
        levels = self._lists.get(list_style, {})
        level = levels.get(depth + 1)
        # A label shows the numbers of this many levels, its own and those above it: 3 of them give "1.2.3".
        shown = max(1, min(depth + 1, whole(attribute(level, "display-levels") or 1, 1)))
        parts: list[str] = []
        for above in range(depth - shown + 1, depth + 1):
            style = attribute(levels.get(above + 1), "num-format")
            if style:
                parts.append(
                    numeral(numbers.get(above, self.start(list_style, above)), _NUMERALS.get(style, "decimal"))
                )
        return f"{attribute(level, 'num-prefix')}{'.'.join(parts)}{attribute(level, 'num-suffix')}".strip()


def _is_automatic(style: Node) -> bool:
    """Whether the program made the style itself, for direct formatting."""
    parent = style.getparent()
    return parent is not None and local(parent) == "automatic-styles"
