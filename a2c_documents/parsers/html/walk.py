"""A tree of HTML becomes elements in reading order. The walk is a loop: pages may be nested as deep as they like."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from a2c_documents.model import Element, code, formula, note
from a2c_documents.parsers.html.furniture import Measures, attribute, left_out
from a2c_documents.parsers.html.parts import (
    embedded,
    form_element,
    form_field,
    image_of,
    language_of,
    math_of,
    raw_text,
)
from a2c_documents.parsers.html.tables import Cell
from a2c_documents.parsers.html.writer import Writer, plain

Leave = Callable[[], None]
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "div", "fieldset",
    "figcaption", "figure", "hgroup", "html", "legend", "main", "optgroup", "p", "search", "section", "summary",
    "tbody", "tfoot", "thead",
))  # fmt: skip
_WHOLES = frozenset(("article", "main", "section", "blockquote"))
"""What may have a header and a footer of its own."""
_SPACE = re.compile(r"[ \t\r\n\f]+")


class Walk:
    """One walk through one tree. `everything` also shows what is usually left out."""

    def __init__(self, measures: Measures, base_url: str = "", *, everything: bool = False) -> None:
        self._measures = measures
        self._base_url = base_url
        self._everything = everything
        self._out = Writer()
        self._wholes = 0
        self._fields: list[list[dict[str, Any]]] = [[]]
        self._labels: dict[str, str] = {}

    def elements(self, root: Any) -> list[Element]:
        """Of a node and everything below it."""
        open_nodes: list[tuple[Any, Leave | None]] = []
        node: Any = root
        while node is not None:
            tag = node.tag
            if tag == "-text":
                self._out.say(_SPACE.sub(" ", node.text_content or ""))
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
        if self._fields[0]:
            self._out.put(form_element(self._fields[0], self._labels))
        return self._out.finished()

    def _enter(self, node: Any, tag: str) -> tuple[bool, Leave | None]:
        """Whether to go on into an element, and what to do when it ends."""
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
        except ValueError:
            return url

    # ---------------------------------------------------------------------------------------------------------- words

    def heading(self, node: Any) -> tuple[bool, Leave | None]:
        """`h1` … `h6`."""
        self._out.end()
        if self._out.in_cell:
            return True, self._out.end
        self._out.level = int(node.tag[1])
        self._out.anchor = attribute(node, "id")

        def leave() -> None:
            self._out.end()
            self._out.level = 0

        return True, leave

    def line_break(self, node: Any) -> tuple[bool, Leave | None]:
        """`br`."""
        self._out.say("\n")
        return False, None

    def separator(self, node: Any) -> tuple[bool, Leave | None]:
        """`hr`."""
        self._out.put(note("separator", ""))
        return False, None

    def preformatted(self, node: Any) -> tuple[bool, Leave | None]:
        """`pre`."""
        if source := raw_text(node).strip("\n").rstrip():
            self._out.put(code(source, language_of(node)))
        return False, None

    def link(self, node: Any) -> tuple[bool, Leave | None]:
        """`a`."""
        url = self._absolute(attribute(node, "href").strip())
        if not url or url.lower().startswith("javascript:"):
            return True, None
        mark = self._out.mark()

        def leave() -> None:
            if words := self._out.since(mark):
                self._out.refer(words, url)

        return True, leave

    def math(self, node: Any) -> tuple[bool, Leave | None]:
        """`math`."""
        expression, inline = math_of(node)
        if inline:
            self._out.say(expression)
        elif expression:
            self._out.put(formula(expression))
        return False, None

    def image(self, node: Any) -> tuple[bool, Leave | None]:
        """`img`, `svg`."""
        if (found := image_of(node)) is not None:
            if found.content["url"]:
                found.content["url"] = self._absolute(found.content["url"])
            self._out.inside(found)
        return False, None

    def embedded(self, node: Any) -> tuple[bool, Leave | None]:
        """`audio`, `video`, `iframe` …"""
        if (found := embedded(node, self._absolute)) is not None:
            self._out.put(found)
        return False, None

    # ----------------------------------------------------------------------------------------------- lists and tables

    def list(self, node: Any) -> tuple[bool, Leave | None]:
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

    def item(self, node: Any) -> tuple[bool, Leave | None]:
        """`li`, `dt`."""
        self._out.end()
        if self._out.in_cell:
            self._out.say("- ")
        else:
            self._out.flow.open_item()
        return True, self._out.end

    def definition(self, node: Any) -> tuple[bool, Leave | None]:
        """`dd`: a list of its own below the term."""
        self._out.end()
        if self._out.in_cell or not self._out.flow.in_list:
            return True, self._out.end
        self._out.flow.open_list(ordered=False)
        self._out.flow.open_item()
        return True, self._close_list

    def table(self, node: Any) -> tuple[bool, Leave | None]:
        """`table`."""
        self._out.open_table(layout=node.mem_id in self._measures.layout)
        return True, self._out.close_table

    def row(self, node: Any) -> tuple[bool, Leave | None]:
        """`tr`."""
        self._out.open_row(head=node.parent is not None and node.parent.tag == "thead")
        return True, self._out.end

    def cell(self, node: Any) -> tuple[bool, Leave | None]:
        """`td`, `th`."""
        header = node.tag == "th"
        cell = Cell("", _span(node, "colspan"), _span(node, "rowspan"), header, header or _starts_bold(node))
        if self._out.open_cell(cell):
            return True, self._out.close_cell
        return True, None if self._out.in_cell else self._out.end

    def caption(self, node: Any) -> tuple[bool, Leave | None]:
        """`caption`."""
        self._out.end()
        return True, self._out.close_caption

    # ------------------------------------------------------------------------------------------------ forms and edges

    def form(self, node: Any) -> tuple[bool, Leave | None]:
        """`form`."""
        self._out.end()
        self._fields.append([])

        def leave() -> None:
            self._out.end()
            if fields := self._fields.pop():
                self._out.put(form_element(fields, self._labels, self._absolute(attribute(node, "action"))))

        return True, leave

    def label(self, node: Any) -> tuple[bool, Leave | None]:
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

    def field(self, node: Any) -> tuple[bool, Leave | None]:
        """`input`, `select` … A button alone is of no use to a reader; a box in a list is a task."""
        in_form = len(self._fields) > 1
        if not in_form and attribute(node, "type").lower() == "checkbox" and self._out.flow.in_list:
            self._out.say("[x] " if "checked" in node.attributes else "[ ] ")
        elif (in_form or node.tag != "button") and (found := form_field(node)) is not None:
            self._fields[-1].append(found)
        return False, None

    def page_edge(self, node: Any) -> tuple[bool, Leave | None]:
        """A header or footer of the whole page is one element; one with headings, or an article's, is content."""
        self._out.end()
        out, own_title = self._out, node.tag == "header" and node.css_first("h1,h2,h3,h4,h5,h6") is not None
        if self._wholes or out.in_cell or out.flow.in_list or own_title:
            return True, out.end
        start = len(out.flow.elements)

        def leave() -> None:
            out.end()
            inside = out.flow.elements[start:]
            words = "\n".join(filter(None, map(plain, inside)))
            kept = [element for element in inside if not plain(element) and element.category != "separator"]
            out.flow.elements[start:] = [note(node.tag, words), *kept] if words else kept

        return True, leave


def _span(node: Any, name: str) -> int:
    value = attribute(node, name).strip()
    return max(1, min(int(value), 65_534)) if value.isdecimal() and len(value) < 9 else 1


def _starts_bold(node: Any) -> bool:
    child = node.first_child
    while child is not None and child.tag == "-text" and not (child.text_content or "").strip():
        child = child.next
    return child is not None and child.tag in ("b", "strong")


_ENTER: dict[str, Callable[[Walk, Any], tuple[bool, Leave | None]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Walk.heading),
    **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), Walk.preformatted),
    **dict.fromkeys(("audio", "video", "iframe", "embed", "object"), Walk.embedded),
    **dict.fromkeys(("ul", "ol", "menu", "dl"), Walk.list),
    **dict.fromkeys(("li", "dt"), Walk.item),
    **dict.fromkeys(("td", "th"), Walk.cell),
    **dict.fromkeys(("img", "svg"), Walk.image),
    **dict.fromkeys(("input", "select", "textarea", "button"), Walk.field),
    **dict.fromkeys(("header", "footer"), Walk.page_edge),
    "a": Walk.link, "br": Walk.line_break, "hr": Walk.separator, "math": Walk.math, "dd": Walk.definition,
    "table": Walk.table, "tr": Walk.row, "caption": Walk.caption, "form": Walk.form, "label": Walk.label,
}  # fmt: skip
