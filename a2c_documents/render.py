"""Pages and elements as JSON, Markdown and plain text.

An element's id consists of the page, the category and the position among the elements of that category on the page
(`p3-table-1`): the same file gives the same ids, and a change on one page leaves the ids of other pages alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from a2c_documents.inline import label, restyled, styles_of
from a2c_documents.loose import as_dict, as_list
from a2c_documents.model import Element, Page
from a2c_documents.rendering.blocks import (
    fenced,
    list_lines,
    one_line,
    series_table,
    tabbed_lines,
    table_lines,
    words_of,
)
from a2c_documents.rendering.bounds import bounded
from a2c_documents.rendering.details import told, untold
from a2c_documents.rendering.summaries import summary_of

# Nine digits at most: numbers come from addresses, and `int` takes quadratic time for long ones.
_START = re.compile(r"p(0|[1-9][0-9]{0,8})(-.*)?")
_ID = re.compile(r"p(0|[1-9][0-9]{0,8})-([a-z_]+)-([1-9][0-9]{0,8})")


def page_shape(page: Page, index: int) -> dict[str, Any]:
    """A page with all that is known about its elements.

    `detail`, `metadata`, `has_picture` and `has_file` are for level 3, `styles` for Markdown and text.
    """
    # Counted for each category: a new paragraph does not change the ids of the tables on its page.
    counted: Counter[str] = Counter()
    elements: list[dict[str, Any]] = []
    for element in page.elements:
        counted[element.category] += 1
        elements.append(_element_shape(element, f"p{index}-{element.category}-{counted[element.category]}"))
    flags = {"continues": page.continues, "is_scan": page.scan is not None}
    return {"title": page.title, "elements": elements, **{flag: True for flag, is_set in flags.items() if is_set}}


def _element_shape(element: Element, element_id: str) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "element_id": element_id,
        "category": element.category,
        "summary": element.summary or summary_of(element.category, element.content),
        "content": element.content,
        "metadata": element.metadata,
    }
    if styles := styles_of(element.content):
        shape["styles"] = styles
    if element.detail is not None:
        shape["detail"] = element.detail
    # The bytes are decoded when they are requested, so only their existence is part of a page.
    if element.picture is not None:
        shape["has_picture"] = True
    if element.file is not None:
        shape["has_file"] = True
    return shape


def page_of_element(element_id: str) -> int | None:
    """The page in an element id; None if the id is invalid."""
    found = _ID.fullmatch(element_id)
    return int(found[1]) if found else None


def position_of(element_id: str) -> tuple[str, int]:
    """The category and the position in a valid element id."""
    _, category, position = element_id.split("-")
    return category, int(position)


def pages_of_elements(start: str, page_count: int) -> list[int]:
    """The pages that may have an element whose id begins with `start`."""
    if not start or start == "p":
        return list(range(page_count))
    found = _START.fullmatch(start)
    if found is None:
        return []
    number, rest = found[1], found[2]
    if rest:
        return [int(number)] if int(number) < page_count else []
    # `p1` may be completed to the elements of pages 1, 10, 11 and so on.
    return [page for page in range(page_count) if str(page).startswith(number)]


# ------------------------------------------------------------------------------------------------------- Markdown, text


Item = dict[str, Any]
"""An element as it is stored: `category`, `content`, `summary`, `styles`."""
Address = Callable[[Item], str]
"""The address of an element, where a reader finds what a page leaves out."""


def markdown(items: Iterable[Item], address: Address) -> str:
    """A page, as markdown. An element that is too long ends early, with the address of the whole one."""
    return "\n\n".join(bounded(shown, item, address) for item in items if (shown := as_markdown(item)))


def plain(items: Iterable[Item], address: Address) -> str:
    """The same as text."""
    return "\n\n".join(bounded(shown, item, address) for item in items if (shown := as_text(item)))


FEW_FORMULAS = 20
"""Formulas of a table that a page shows. The element at its own address shows all."""


def as_markdown(item: Item, most_formulas: int = FEW_FORMULAS) -> str:
    """One element. Without the content that its category needs, it is `[category: summary]`."""
    content = item["content"]
    if styles := item.get("styles"):
        content = restyled(content, styles)
    shown = _markdown(item, content)
    links = [one for one in _links(item) if one["url"] not in shown]
    if links:
        shown += "\n\n" + ", ".join(f"[{label(one_line(one.get('text')))}]({one['url']})" for one in links)
    formulas = _formulas(item, most_formulas)
    return f"{shown}\n\n[formulas: {formulas}]" if formulas else shown


def _markdown(item: Item, content: dict[str, Any]) -> str:
    match item["category"]:
        case "heading" if content.get("text"):
            return f"{'#' * _level(content.get('level'))} {one_line(content['text'])}"
        case "text" if content.get("text"):
            return str(content["text"])
        case "table" if content.get("headers") or content.get("rows"):
            return "\n".join(table_lines(as_list(content.get("headers")), as_list(content.get("rows"))))
        case "list" if content.get("items"):
            return "\n".join(list_lines(content, _start(item)))
        case "code" if isinstance(content.get("code"), str):
            return fenced(content["code"], content.get("language"))
        case "chart" if content.get("title") or content.get("data_summary"):
            kind = f" ({one_line(content['chart_type'])})" if content.get("chart_type") else ""
            line = f"[chart: {one_line(content.get('title'))}] {one_line(content.get('data_summary'))}".rstrip() + kind
            headers, rows = series_table(content)
            return "\n".join([line, "", *table_lines(headers, rows)]) if rows else line
        case "image" if content.get("url"):
            alt = one_line(content.get("alt"))
            return f"![{label(alt)}]({content['url']}){_unsaid(content.get('description'), alt)}"
        case "image" if content.get("description") or content.get("alt"):
            words = one_line(content.get("description") or content["alt"])
            return f"[picture: {words}]{_unsaid(content.get('alt'), words)}"
        case "link" if content.get("url"):
            return f"[{label(one_line(content.get('text') or content['url']))}]({content['url']})"
        case "formula" if content.get("expression"):
            value = f" = {content['value']}" if content.get("value") else ""
            return f"$ {content['expression']} ${value}"
        case category:
            return told(category, content, one_line(item.get("summary")), words_of(item["content"].get("text")))


def as_text(item: Item, most_formulas: int = FEW_FORMULAS) -> str:
    """One element without markup."""
    content = item["content"]
    if styles := item.get("styles"):
        content = restyled(content, styles, as_text=True)
    shown = _text(item, content)
    links = [one for one in _links(item) if one["url"] not in shown]
    lines = [shown, *(f"{one_line(one.get('text'))} {one['url']}".strip() for one in links)]
    formulas = _formulas(item, most_formulas)
    return "\n".join([*lines, f"Formulas: {formulas}"] if formulas else lines)


def searched(item: Item) -> str:
    """One element for the search index: without addresses between the words of a sentence."""
    return _text(item, item["content"])


def searched_on(page: dict[str, Any]) -> list[tuple[str, str]]:
    """The ids and texts of the elements of a page for the search index."""
    texts = [(item["element_id"], searched(item)) for item in page["elements"]]
    return [(element_id, text) for element_id, text in texts if text.strip()]


def _text(item: Item, content: dict[str, Any]) -> str:
    match item["category"]:
        case "heading" | "text" if content.get("text"):
            return str(content["text"])
        case "table" if content.get("headers") or content.get("rows"):
            return "\n".join(tabbed_lines(as_list(content.get("headers")), as_list(content.get("rows"))))
        case "list":
            return "\n".join(list_lines(content, _start(item)))
        case "code":
            return words_of(content.get("code"))
        case "link":
            return f"{words_of(content.get('text'))} {words_of(content.get('url'))}".strip()
        case "formula":
            value = f" = {content['value']}" if content.get("value") else ""
            return f"{words_of(content.get('expression'))}{value}"
        case "chart":
            line = " ".join(filter(None, (words_of(content.get(key)) for key in ("title", "data_summary"))))
            return "\n".join([line, *tabbed_lines(*series_table(content))]).rstrip()
        case "image":
            alt, description = words_of(content.get("alt")), words_of(content.get("description"))
            return (alt if description in alt else f"{alt} {description}").strip()
        case category:
            return untold(category, content, one_line(item.get("summary")))


def _unsaid(words: Any, said: str) -> str:
    """What is told about a picture besides the words that are shown already."""
    line = one_line(words)
    return f" {line}" if line and line not in said else ""


def _links(item: Item) -> list[dict[str, Any]]:
    """Links that a parser found in a text without saying where. Addresses inside the document are left out."""
    if not (told := as_dict(item.get("metadata")).get("links")):
        return []
    # Sheets name the cell of each link.
    known = [{"text": cell, "url": url} for cell, url in as_dict(told).items()] or list(map(as_dict, as_list(told)))
    return [one for one in known if str(one.get("url") or "#")[0] != "#"]


def _formulas(item: Item, most: int) -> str:
    """The formulas behind the values of a table: `D2 = B2*C2; D3 = B3*C3`."""
    metadata = as_dict(item.get("metadata"))
    if not (known := as_dict(metadata.get("formulas"))):
        return ""
    shown = [f"{cell} = {one_line(expression).removeprefix('=')}" for cell, expression in list(known.items())[:most]]
    count = metadata.get("formula_count")
    more = (count if isinstance(count, int) else len(known)) - len(shown)
    return "; ".join([*shown, f"and {more:,} more"] if shown and more > 0 else shown)


def _start(item: Item) -> Any:
    return as_dict(item.get("metadata")).get("start")


def _level(value: Any) -> int:
    return max(1, min(value, 6)) if isinstance(value, int) else 1
