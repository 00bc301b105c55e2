"""Parts of a web page that are not content: navigation, scripts, hidden elements, cookie banners, layout tables.

The decision uses the tree only, in one pass that counts words. In doubt a part stays: text that is missing does more
harm than a menu that is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

SKIPPED = frozenset((
    "script", "style", "template", "noscript", "nav", "head", "title", "meta", "link", "base", "canvas", "dialog",
    "datalist", "map", "area", "col", "colgroup", "frameset", "param", "track", "source",
))  # fmt: skip
_NO_WORDS = frozenset(("script", "style", "template", "head", "datalist"))
_UNSEEN_ROLES = frozenset(("navigation", "search", "menu", "menubar", "alertdialog", "tooltip", "tablist"))
_UNSEEN_CLASSES = frozenset((
    "sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screen-reader-only", "noprint",
    "linenos", "lineno", "gutter", "line-numbers-rows", "skip-link", "skip-to-content", "headerlink", "hash-link",
    "header-anchor", "anchorjs-link", "heading-anchor", "mw-editsection", "mw-jump-link",
))  # fmt: skip
_MENU_WORDS = frozenset((
    "nav", "navbar", "navigation", "menu", "sidebar", "breadcrumb", "breadcrumbs", "pagination", "pager", "share",
    "sharing", "social", "toc", "topbar", "related", "skip",
))  # fmt: skip
_COOKIE = re.compile(r"cookie|consent|gdpr|onetrust|didomi|usercentrics|truste", re.IGNORECASE)
_BANNER = re.compile(
    r"banner|notice|bar\b|popup|modal|overlay|dialog|wall|sdk|law|consent|onetrust|didomi|usercentrics", re.IGNORECASE
)
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BLOCKS = _HEADINGS | {"p", "div", "ul", "ol", "img", "pre", "form", "table", "blockquote"}


@dataclass(slots=True)
class Measures:
    """Characters, characters in links and first-level headings of every element of a tree.

    By address in memory: selectolax makes a new Python object each time that a node is reached.
    """

    words: dict[int, tuple[int, int, int]] = field(default_factory=dict[int, tuple[int, int, int]])
    layout: set[int] = field(default_factory=set[int])
    """Tables that are used for layout."""

    def of(self, node: LexborNode) -> tuple[int, int, int]:
        """Characters, characters in links, headings of the first level."""
        return self.words.get(node.mem_id, (0, 0, 0))


@dataclass(slots=True)
class _Table:
    told: bool = False
    """Whether its markup says that it is for data, or for layout."""
    layout: bool = False
    rows: int = 0
    cells: int = 0
    widest: int = 0
    blocks: bool = False
    structure: bool = False


def attribute(node: LexborNode, name: str) -> str:
    """An attribute, or nothing."""
    return str(node.attributes.get(name) or "")


def measure(root: LexborNode) -> Measures:
    """Walk a tree once, without recursion."""
    found = Measures()
    # A stack instead of recursion, because elements may be nested deeper than Python allows calls to be.
    open_nodes: list[tuple[LexborNode, list[int]]] = []
    tables: list[_Table] = []
    node: LexborNode | None = root
    while node is not None:
        tag = node.tag or ""
        counts = [0, 0, 0]
        if tag == "-text" and open_nodes:
            open_nodes[-1][1][0] += len("".join((node.text_content or "").split()))
        elif node.is_element_node:
            _note(node, tag, tables)
            counts[2] = tag == "h1"
            # The text of these elements is not shown, and must not count as words.
            child = None if tag in ("script", "style", "template") else node.first_child
            open_nodes.append((node, counts))
            if child is not None:
                node = child
                continue
            _leave(open_nodes, tables, found)
        # Go to the next node in the document. Elements whose last child was visited end here.
        while node is not root and node.next is None and open_nodes:
            node = open_nodes[-1][0]
            _leave(open_nodes, tables, found)
        node = None if node is root else node.next
    return found


def _note(node: LexborNode, tag: str, tables: list[_Table]) -> None:
    if tag == "table":
        # A table around another one usually arranges parts of the page.
        if tables:
            tables[-1].structure = tables[-1].blocks = True
        role = attribute(node, "role").lower()
        border = attribute(node, "border").strip() not in ("", "0")
        tables.append(_Table(told=border or role in ("presentation", "none", "grid", "table")))
        tables[-1].layout = role in ("presentation", "none")
    elif not tables:
        return
    elif tag in ("th", "caption", "thead"):
        # A header cell shows a table of data, unless the role of the table says that it is for layout.
        tables[-1].told = tables[-1].told or tag != "th" or not tables[-1].layout
        tables[-1].cells += tag == "th"
    elif tag == "tr":
        tables[-1].rows += 1
        tables[-1].cells = 0
    elif tag == "td":
        tables[-1].cells += 1
    elif tag in _BLOCKS:
        tables[-1].blocks = True
        tables[-1].structure = tables[-1].structure or tag in _HEADINGS or tag in ("pre", "form")
    tables[-1].widest = max(tables[-1].widest, tables[-1].cells)


def _leave(open_nodes: list[tuple[LexborNode, list[int]]], tables: list[_Table], found: Measures) -> None:
    node, counts = open_nodes.pop()
    tag = node.tag
    if tag == "a":
        counts[1] = counts[0]
    if tag == "table" and tables:
        table = tables.pop()
        # A single column, or a single row of blocks, has nothing to compare: it arranges parts of the page.
        one = table.widest <= 1 or (table.rows <= 1 and table.blocks)
        if table.layout or (not table.told and (table.structure or one)):
            found.layout.add(node.mem_id)
    found.words[node.mem_id] = (counts[0], counts[1], counts[2])
    if open_nodes:
        above = open_nodes[-1][1]
        for index in range(3):
            above[index] += counts[index]


def main_content(body: LexborNode, measures: Measures) -> LexborNode:
    """The element that is marked as the main one, if it has most of the page's text; else the body."""
    found = [node for node in body.css("main, [role=main]") if not _unseen(node)]
    if len(found) != 1:
        return body
    main = found[0]
    all_words, all_links, titles = measures.of(body)
    words, links, own_titles = measures.of(main)
    # The title of the page is outside of the main element, and would be lost.
    if titles and not own_titles:
        return body
    # Words in links are mostly navigation, and do not count.
    return main if 2 * (words - links) >= all_words - all_links else body


def left_out(node: LexborNode, tag: str, measures: Measures, *, everything: bool = False) -> bool:
    """Whether an element is left out. With `everything`, only elements without readable text are."""
    if everything:
        return tag in _NO_WORDS
    if tag in SKIPPED:
        return not (tag == "dialog" and "open" in node.attributes)
    # Most elements have no attributes. This test spares them all that follow.
    if tag in ("html", "body", "main") or not (node.attributes or tag == "aside"):
        return False
    if _unseen(node):
        return True
    if tag in ("article", "h1"):
        return False
    name = f"{attribute(node, 'class')} {attribute(node, 'id')}"
    words, _, titles = measures.of(node)
    # A banner is short and has no title. A long text about cookies is the content of the page.
    if titles == 0 and words < 3_000 and _COOKIE.search(name) and _BANNER.search(name):
        return True
    if tag == "aside" or not _MENU_WORDS.isdisjoint(_WORD.findall(name.lower())):
        # A part with the title of the page is content, whatever its class is called.
        return titles == 0 and _mostly_links(node, measures)
    return False


def _unseen(node: LexborNode) -> bool:
    attributes = node.attributes
    # The search of a browser finds text that is hidden "until-found", so it is content.
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if attributes.get("aria-hidden") == "true" or (attributes.get("role") or "").lower() in _UNSEEN_ROLES:
        return True
    if attributes.get("role") == "dialog" and attributes.get("aria-modal") == "true":
        return True
    style = attributes.get("style")
    if style and _UNSEEN_STYLE.search(style):
        return True
    return not _UNSEEN_CLASSES.isdisjoint((attributes.get("class") or "").split())


def _mostly_links(node: LexborNode, measures: Measures) -> bool:
    words, links, _ = measures.of(node)
    return words > 0 and links > 0.6 * words
