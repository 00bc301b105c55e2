"""Web pages: the content without navigation and other furniture. Sections under headings are pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from a2c_documents.inline import BOLD, CODE, ITALIC
from a2c_documents.model import Element, Facts, PagesSource, Source, UnreadableFileError, code, formula, note
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import check_text, clean, decode_as, read_bytes
from a2c_documents.parsers.common.markup import by_heading, title_of
from a2c_documents.parsers.common.pictures import beside
from a2c_documents.parsers.common.portions import in_portions
from a2c_documents.parsers.html.furniture import Measures, attribute, left_out, main_content, measure
from a2c_documents.parsers.html.parts import (
    embedded,
    form_element,
    form_field,
    image_of,
    language_of,
    math_of,
    raw_text,
    single_spaces,
    text_of,
)
from a2c_documents.parsers.html.tables import Cell
from a2c_documents.parsers.html.writer import Writer, plain

_CHARSET = re.compile(
    rb"<(?:meta\b[^>]{0,200}?\bcharset|\?xml\b[^>]{0,100}?\bencoding)\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I
)
_XHTML = re.compile(r"<\?xml\b|xmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml")
# The name is matched possessively (`*+`): a long name that does not end with `/>` is tried once, not at each length.
_EMPTY = re.compile(r"<([A-Za-z][\w:-]*+)((?:\s[^<>]*)?)/>")
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "base", "col", "source", "track", "area", "embed", "wbr")
)
_AUTHORS = ("author", "dc.creator", "article:author")
_DATES = ("article:published_time", "date", "dc.date", "dcterms.created", "datepublished", "created")


def open_html(path: Path) -> Source:
    """A web page.

    Raises:
        UnreadableFileError: it is empty, too large, or no web page.
    """
    raw = read_bytes(path, "web page")
    check_text(raw, "web page")
    declared = _CHARSET.search(raw[:4_096])
    markup, encoding = decode_as(raw, declared[1].decode("ascii", "replace") if declared else "")
    tree = _parse(markup)
    facts = _facts(tree, encoding)
    elements = _elements(tree)
    for element in elements:
        if element.category == "image" and element.picture is None:
            element.picture = beside(path.parent, element.content["url"])
    if not elements:
        raise UnreadableFileError("this web page has no text: it is empty, or made by a script when it is opened")
    facts.title = facts.title or title_of(elements)
    return PagesSource(facts, paginate(in_portions(by_heading(elements, facts.title))))


def html_elements(markup: str) -> list[Element]:
    """The elements of a page or a piece of one, in reading order. Addresses stay as they are written."""
    return _elements(_parse(markup))


def _parse(markup: str) -> LexborHTMLParser:
    if _XHTML.search(markup[:2_000]):
        # In XHTML `<script/>` is an empty element. An HTML parser ignores the slash and swallows the rest of the page.
        markup = _EMPTY.sub(_closed, markup)
    try:
        return LexborHTMLParser(clean(markup))
    except (SelectolaxError, ValueError, RuntimeError) as error:
        raise UnreadableFileError(f"this web page cannot be read: {error}") from None


def _closed(found: re.Match[str]) -> str:
    return found[0] if found[1].lower() in _VOID else f"<{found[1]}{found[2]}></{found[1]}>"


def _elements(tree: LexborHTMLParser) -> list[Element]:
    body = tree.body if tree.body is not None else tree.root
    if body is None:
        return []
    base = tree.css_first("base[href]")
    base_url = attribute(base, "href") if base is not None else ""
    measures = measure(body)
    found = _Walk(measures, base_url).elements(main_content(body, measures))
    # A page that has only navigation is an index, and the links are its content.
    return found or _Walk(measures, base_url, everything=True).elements(body)


def _facts(tree: LexborHTMLParser, encoding: str) -> Facts:
    named: dict[str, str] = {}
    for meta in tree.css("meta"):
        name = (attribute(meta, "name") or attribute(meta, "property") or attribute(meta, "itemprop")).lower()
        if name and (value := attribute(meta, "content").strip()):
            named.setdefault(name, value)
    title = tree.css_first("head title")
    language = attribute(tree.root, "lang") if tree.root is not None else ""
    return Facts(
        title=(text_of(title) if title is not None else "") or named.get("og:title", ""),
        # `article:author` is often the address of a profile.
        author=next((name for key in _AUTHORS if (name := named.get(key, "")) and "://" not in name), ""),
        keywords=[word for part in re.split(r"[,;]", named.get("keywords", "")) if (word := part.strip())][:50],
        summary=named.get("description") or named.get("og:description", ""),
        created=next((named[name] for name in _DATES if name in named), ""),
        details={"encoding": encoding} | ({"language": language} if language else {}),
    )


# ------------------------------------------------------------------------------------------------------------- the tree


Leave = Callable[[], None]
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "div", "fieldset",
    "figcaption", "figure", "hgroup", "html", "legend", "main", "optgroup", "p", "search", "section", "summary",
    "tbody", "tfoot", "thead",
))  # fmt: skip
_WHOLES = frozenset(("article", "main", "section", "blockquote"))
"""Elements that may have their own header and footer."""
_SPACES = "\t\r\n\f"


class _Walk:
    """Walks through a tree in a loop, because pages may be nested to any depth. `everything` also shows furniture."""

    def __init__(self, measures: Measures, base_url: str = "", *, everything: bool = False) -> None:
        self._measures = measures
        self._base_url = base_url
        self._everything = everything
        self._out = Writer()
        self._wholes = 0
        self._fields: list[list[dict[str, Any]]] = [[]]
        self._labels: dict[str, str] = {}

    def elements(self, root: LexborNode) -> list[Element]:
        """The elements of a node and everything below it."""
        open_nodes: list[tuple[LexborNode, Leave | None]] = []
        node: LexborNode | None = root
        while node is not None:
            tag = node.tag or ""
            if tag == "-text":
                # Line breaks of the source become spaces, so a line feed among the words always comes from `br`.
                self._out.say(single_spaces(node.text_content or "", _SPACES))
            elif node.is_element_node and not left_out(node, tag, self._measures, everything=self._everything):
                deeper, leave = self._enter(node, tag)
                child = node.first_child if deeper else None
                if child is not None:
                    open_nodes.append((node, leave))
                    node = child
                    continue
                if leave is not None:
                    leave()
            while node is not root and node.next is None and open_nodes:
                node, leave = open_nodes.pop()
                if leave is not None:
                    leave()
            node = None if node is root else node.next
        # Fields outside of any form.
        if self._fields[0]:
            self._out.put(form_element(self._fields[0], self._labels))
        return self._out.finished()

    def _enter(self, node: LexborNode, tag: str) -> tuple[bool, Leave | None]:
        """Begin an element. Returns whether its children are visited, and the function to call after them."""
        if known := _ENTER.get(tag):
            return known(self, node)
        if tag not in _BLOCKS:
            return True, None
        self._out.end()
        if tag not in _WHOLES:
            return True, self._out.end
        quote = tag == "blockquote"
        self._wholes += 1
        self._out.quotes += quote

        def leave() -> None:
            self._out.end()
            self._wholes -= 1
            self._out.quotes -= quote

        return True, leave

    def _absolute(self, url: str) -> str:
        try:
            return urljoin(self._base_url, url) if self._base_url and not url.startswith(("data:", "#")) else url
        except ValueError:  # a malformed host
            return url

    # ---------------------------------------------------------------------------------------------------------- words

    def heading(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`h1` … `h6`."""
        self._out.end()
        if self._out.in_cell:
            return True, self._out.end
        self._out.level = int((node.tag or "h1")[1])
        self._out.anchor = attribute(node, "id")

        def leave() -> None:
            self._out.end()
            self._out.level = 0

        return True, leave

    def line_break(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`br`."""
        self._out.say("\n")
        return False, None

    def separator(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`hr`."""
        self._out.put(note("separator", ""))
        return False, None

    def preformatted(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`pre`."""
        if source := raw_text(node).strip("\n").rstrip():
            self._out.put(code(source, language_of(node)))
        return False, None

    def link(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`a`."""
        url = self._absolute(attribute(node, "href").strip())
        if not url or url.lower().startswith("javascript:"):
            return True, None
        # The words of a link are known when its children have been visited. If a block inside ends the paragraph, they
        # are not one piece of text any more, and `since` returns none.
        mark = self._out.mark()

        return True, partial(self._out.refer, mark, url)

    def face(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`b`, `em`, `code` …"""
        # A heading is bold by itself.
        if self._out.level:
            return True, None
        self._out.faces.append(_FACES[node.tag or ""])
        return True, self._end_face

    def _end_face(self) -> None:
        self._out.faces.pop()

    def math(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`math`."""
        expression, inline = math_of(node)
        if inline:
            self._out.say(expression)
        elif expression:
            self._out.put(formula(expression))
        return False, None

    def image(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`img`, `svg`."""
        if (found := image_of(node)) is not None:
            if found.content["url"]:
                found.content["url"] = self._absolute(found.content["url"])
            self._out.inside(found)
        return False, None

    def embedded(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`audio`, `video`, `iframe` …"""
        if (found := embedded(node, self._absolute)) is not None:
            self._out.put(found)
        return False, None

    # ----------------------------------------------------------------------------------------------- lists and tables

    def list(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`ul`, `ol`, `dl`."""
        self._out.end()
        if self._out.in_cell:
            return True, self._out.end
        start = attribute(node, "start").strip()
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        self._out.flow.open_list(ordered=node.tag == "ol", start=number)
        return True, self._close_list

    def _close_list(self) -> None:
        self._out.end()
        self._out.flow.close_list()

    def item(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`li`, `dt`."""
        self._out.end()
        if self._out.in_cell:
            self._out.say("- ")
        else:
            self._out.flow.open_item()
        return True, self._out.end

    def definition(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`dd`: a list of its own below the term."""
        self._out.end()
        if self._out.in_cell or not self._out.flow.in_list:
            return True, self._out.end
        self._out.flow.open_list(ordered=False)
        self._out.flow.open_item()
        return True, self._close_list

    def table(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`table`."""
        self._out.open_table(layout=node.mem_id in self._measures.layout)
        return True, self._out.close_table

    def row(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`tr`."""
        self._out.open_row(head=node.parent is not None and node.parent.tag == "thead")
        return True, self._out.end

    def cell(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`td`, `th`."""
        # Many pages mark header cells by bold text instead of `th`.
        header = node.tag == "th"
        cell = Cell("", _span(node, "colspan"), _span(node, "rowspan"), header, header or _starts_bold(node))
        if self._out.open_cell(cell):
            return True, self._out.close_cell
        return True, None if self._out.in_cell else self._out.end

    def caption(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`caption`."""
        self._out.end()
        return True, self._out.close_caption

    # ------------------------------------------------------------------------------------------------ forms and edges

    def form(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`form`."""
        self._out.end()
        self._fields.append([])

        def leave() -> None:
            self._out.end()
            if fields := self._fields.pop():
                self._out.put(form_element(fields, self._labels, self._absolute(attribute(node, "action"))))

        return True, leave

    def label(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`label`: words of a field rather than of the page."""
        mark, before, target = self._out.mark(), len(self._fields[-1]), attribute(node, "for")

        def leave() -> None:
            own = self._fields[-1][before:]
            if not (target or own):
                return
            if (words := self._out.since(mark, take=True)) and target:
                self._labels[target] = words
            elif words:
                own[0]["label"] = words

        return True, leave

    def field(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`input`, `select` … Buttons outside of forms are left out. A checkbox in a list marks a task."""
        in_form = len(self._fields) > 1
        if not in_form and attribute(node, "type").lower() == "checkbox" and self._out.flow.in_list:
            self._out.say("[x] " if "checked" in node.attributes else "[ ] ")
        elif (in_form or node.tag != "button") and (found := form_field(node)) is not None:
            self._fields[-1].append(found)
        return False, None

    def page_edge(self, node: LexborNode) -> tuple[bool, Leave | None]:
        """`header`, `footer`: one element if it is that of the whole page. With headings, or in an article: content."""
        self._out.end()
        out, own_title = self._out, node.tag == "header" and node.css_first("h1,h2,h3,h4,h5,h6") is not None
        if self._wholes or out.in_cell or out.flow.in_list or own_title:
            return True, out.end
        start = len(out.flow.elements)

        def leave() -> None:
            out.end()
            inside = out.flow.elements[start:]
            words = "\n".join(filter(None, map(plain, inside)))
            # Pictures and the like have no words that could be joined, and follow the header.
            kept = [element for element in inside if not plain(element) and element.category != "separator"]
            out.flow.elements[start:] = [note(node.tag or "", words), *kept] if words else kept

        return True, leave


def _span(node: LexborNode, name: str) -> int:
    value = attribute(node, name).strip()
    # The limit of the HTML standard for `rowspan`.
    return max(1, min(int(value), 65_534)) if value.isdecimal() and len(value) < 9 else 1


def _starts_bold(node: LexborNode) -> bool:
    child = node.first_child
    while child is not None and child.tag == "-text" and not (child.text_content or "").strip():
        child = child.next
    return child is not None and child.tag in ("b", "strong")


_FACES = {
    **dict.fromkeys(("b", "strong"), BOLD),
    **dict.fromkeys(("i", "em", "cite", "var", "dfn"), ITALIC),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), CODE),
}
_ENTER: dict[str, Callable[[_Walk, LexborNode], tuple[bool, Leave | None]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _Walk.heading),
    **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), _Walk.preformatted),
    **dict.fromkeys(("audio", "video", "iframe", "embed", "object"), _Walk.embedded),
    **dict.fromkeys(("ul", "ol", "menu", "dl"), _Walk.list),
    **dict.fromkeys(("li", "dt"), _Walk.item),
    **dict.fromkeys(("td", "th"), _Walk.cell),
    **dict.fromkeys(("img", "svg"), _Walk.image),
    **dict.fromkeys(("input", "select", "textarea", "button"), _Walk.field),
    **dict.fromkeys(("header", "footer"), _Walk.page_edge),
    **dict.fromkeys(_FACES, _Walk.face),
    "a": _Walk.link, "br": _Walk.line_break, "hr": _Walk.separator, "math": _Walk.math, "dd": _Walk.definition,
    "table": _Walk.table, "tr": _Walk.row, "caption": _Walk.caption, "form": _Walk.form, "label": _Walk.label,
}  # fmt: skip
