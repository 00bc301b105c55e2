"""Markdown: headings, lists, tables, code, pictures, formulas. Sections under headings are pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from a2c_documents.model import (
    Element,
    PagesSource,
    Source,
    UnreadableFileError,
    code,
    formula,
    heading,
    note,
    table,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.flow import Flow, Link
from a2c_documents.parsers.common.lines import paragraphs, split_lines
from a2c_documents.parsers.common.pictures import picture_element
from a2c_documents.parsers.common.reading import read_text
from a2c_documents.parsers.common.sections import by_heading, title_of
from a2c_documents.parsers.html.document import html_elements
from a2c_documents.parsers.markdown.front_matter import facts_of, split_front_matter
from a2c_documents.parsers.markdown.syntax import MAX_NESTING, parser

MAX_MARKDOWN = 64_000_000
MAX_PARSED = 3_000_000
"""Characters that are understood: it takes some seconds for a million."""
_TASK = re.compile(r"\[([ xX])\]\s")
_BARE_LINK = re.compile(r"<?(https?://[^\s<>]+)>?")
_INLINE_IMAGE = re.compile(r"<img\b", re.IGNORECASE)
_INLINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def open_markdown(path: Path) -> Source:
    """A Markdown file.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    words, encoding = read_text(path, "Markdown file", MAX_MARKDOWN)
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    said, skipped = split_front_matter(words)
    facts = facts_of(said)
    facts.details["encoding"] = encoding
    body = "\n".join(words.split("\n")[skipped:])
    if len(body) <= MAX_PARSED:
        elements = markdown_elements(body, first_line=skipped + 1, base=path.parent)
    else:
        remark = "This text is too long to be understood; but for its headings it is shown as it is written."
        elements = [note("annotation", remark), *paragraphs(split_lines(body), skipped + 1, "md")]
    facts.title = facts.title or title_of(elements)
    return PagesSource(facts, paginate(by_heading(elements, facts.title)))


def markdown_elements(source: str, *, first_line: int = 1, base: Path | None = None) -> list[Element]:
    """The elements of a text; `first_line` is the number of its first line, `base` the folder of its pictures.

    Raises:
        UnreadableFileError: it is nested too deep.
    """
    try:
        return _Reader(first_line - 1, base).read(parser().parse(source))
    except RecursionError:
        raise UnreadableFileError("this Markdown is nested too deep") from None


class _Reader:
    """Goes through the tokens once."""

    def __init__(self, line_offset: int, base: Path | None) -> None:
        self._offset = line_offset
        self._base = base
        self._flow = Flow()
        self._quotes = 0

    def read(self, tokens: list[Any]) -> list[Element]:
        """The elements."""
        following = iter(tokens)
        for token in following:
            self._take(token, following)
        self._flow.close()
        if any(token.level >= MAX_NESTING - 2 for token in tokens):
            self._flow.emit(note("annotation", "Some of this text is nested too deep and left out."))
        return self._flow.elements

    def _take(self, token: Any, following: Iterator[Any]) -> None:
        kind: str = token.type
        if kind == "heading_open":
            self._heading(token, next(following))
        elif kind == "inline":
            self._paragraph(token)
        elif kind in ("bullet_list_open", "ordered_list_open"):
            start = token.attrGet("start")
            self._flow.open_list(ordered=kind.startswith("ordered"), start=1 if start is None else int(start))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._flow.close_list()
        elif kind == "list_item_open":
            self._flow.open_item()
        elif kind in ("blockquote_open", "blockquote_close"):
            self._quotes += 1 if kind == "blockquote_open" else -1
        elif kind in ("fence", "code_block"):
            self._emit(code(token.content.rstrip("\n"), _language(token.info)), token)
        elif kind == "table_open":
            self._table(token, following)
        elif kind == "formula":
            self._emit(formula(token.content), token)
        elif kind == "hr":
            self._emit(note("separator", ""), token)
        elif kind == "html_block":
            for element in html_elements(token.content):
                self._add_html(element, token)

    def _lines(self, token: Any) -> list[int] | None:
        return [token.map[0] + 1 + self._offset, token.map[1] + self._offset] if token.map else None

    def _emit(self, element: Element, token: Any) -> None:
        if lines := self._lines(token):
            element.metadata["lines"] = lines
        self._flow.emit(element)

    def _add_html(self, element: Element, token: Any) -> None:
        if element.category == "text":
            self._flow.paragraph(element.content["text"], element.metadata.get("links", []), self._lines(token))
            return
        if element.category == "image":
            element.picture = element.picture or self._picture(element.content["url"])
        self._emit(element, token)

    def _heading(self, opening: Any, inline: Any) -> None:
        words, _, images = self._inline(inline.children or [])
        level = int(opening.tag[1])
        if words:
            self._emit(heading(words.replace("\n", " "), level), opening)
        for image in images:
            self._emit(image, opening)

    def _paragraph(self, token: Any) -> None:
        words, links, images = self._inline(token.children or [])
        if self._flow.in_list and (task := _TASK.match(words)):
            words = f"[{task[1].lower()}] {words[task.end() :].lstrip()}"
        if (bare := _BARE_LINK.fullmatch(words)) and not links:
            words, links = bare[1], [{"text": bare[1], "url": bare[1]}]
        self._flow.paragraph(words, links, self._lines(token), **({"quote": True} if self._quotes else {}))
        for image in images:
            self._emit(image, token)

    def _table(self, opening: Any, following: Iterator[Any]) -> None:
        rows: list[list[str]] = []
        all_links: list[Link] = []
        all_images: list[Element] = []
        for token in following:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                words, links, images = self._inline(token.children or [])
                rows[-1].append(words or " ".join(image.content["alt"] for image in images))
                all_links += links
                all_images += images
        shown = table(rows[0] if rows else [], rows[1:], **({"links": all_links[:200]} if all_links else {}))
        self._emit(shown, opening)
        for image in all_images:
            self._emit(image, opening)

    def _inline(self, tokens: list[Any]) -> tuple[str, list[Link], list[Element]]:
        """Words, the links among them, and the pictures between them."""
        words: list[str] = []
        links: list[Link] = []
        images: list[Element] = []
        url, start = "", 0
        for token in tokens:
            kind = token.type
            if kind in ("text", "code_inline"):
                words.append(token.content)
            elif kind == "softbreak":
                words.append(" ")
            elif kind == "hardbreak" or (kind == "html_inline" and _INLINE_BREAK.match(token.content)):
                words.append("\n")
            elif kind == "link_open":
                url, start = str(token.attrGet("href") or ""), len(words)
            elif kind == "link_close":
                if label := "".join(words[start:]).strip():
                    links.append({"text": label, "url": url})
                url = ""
            elif kind == "image":
                images.append(self._image(token, url))
            elif kind == "html_inline" and _INLINE_IMAGE.match(token.content):
                images += [self._linked(element, url) for element in html_elements(token.content)]
        lines = "".join(words).split("\n")
        return "\n".join(line.strip() for line in lines).strip(), links, images

    def _image(self, token: Any, url: str) -> Element:
        alt = "".join(str(child.content or " ") for child in cast("list[Any]", token.children or [])).strip()
        return self._linked(
            picture_element(str(token.attrGet("src") or ""), alt, str(token.attrGet("title") or "")), url
        )

    def _linked(self, element: Element, url: str) -> Element:
        if url:
            element.metadata["link"] = url
        element.picture = element.picture or self._picture(str(element.content.get("url", "")))
        return element

    def _picture(self, src: str) -> Any:
        return picture_element(src, "", base=self._base).picture if self._base is not None and src else None


def _language(info: str) -> str:
    """`python`, from "python title=x", "{.python}" or "{python}"."""
    first = (info.strip().split() or [""])[0]
    return first.strip("{}").lstrip(".").split(",")[0].lower()
