"""Pages and elements as they are kept and sent: JSON, and ids that stay.

An id is made of the page, the category and the position among its like (`p3-table-1`): the same file gives the same
ids, and what changes on one page leaves those of other pages alone.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from a2c_documents.model import Element, Page
from a2c_documents.render import summary_of

_START = re.compile(r"p(0|[1-9][0-9]{0,8})(-.*)?")
_ID = re.compile(r"p(0|[1-9][0-9]{0,8})-([a-z_]+)-([1-9][0-9]{0,8})")


def page_shape(page: Page, index: int) -> dict[str, Any]:
    """A page with all that is known of its elements; `detail`, `metadata`, `has_picture` and `has_file` are for
    level 3."""
    counted: Counter[str] = Counter()
    elements: list[dict[str, Any]] = []
    for element in page.elements:
        counted[element.category] += 1
        elements.append(_element_shape(element, f"p{index}-{element.category}-{counted[element.category]}"))
    return {"title": page.title, "elements": elements}


def _element_shape(element: Element, element_id: str) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "element_id": element_id,
        "category": element.category,
        "summary": element.summary or summary_of(element.category, element.content),
        "content": element.content,
        "metadata": element.metadata,
    }
    if element.detail is not None:
        shape["detail"] = element.detail
    if element.picture is not None:
        shape["has_picture"] = True
    if element.file is not None:
        shape["has_file"] = True
    return shape


def page_of_element(element_id: str) -> int | None:
    """The page that an id speaks of; None when it is no id of ours."""
    found = _ID.fullmatch(element_id)
    return int(found[1]) if found else None


def pages_of_elements(start: str, page_count: int) -> list[int]:
    """The pages whose elements may have an id that begins so: all of them, one, or those whose number begins so."""
    if not start or start == "p":
        return list(range(page_count))
    found = _START.fullmatch(start)
    if found is None:
        return []
    number, rest = found[1], found[2]
    if rest:
        return [int(number)] if int(number) < page_count else []
    return [page for page in range(page_count) if str(page).startswith(number)]
