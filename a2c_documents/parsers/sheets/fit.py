"""Pages of cells with long texts are made to fit: how many rows a page has is settled before its cells are read."""

from __future__ import annotations

from a2c_documents.model import Element
from a2c_documents.paging import MAX_PAGE_BYTES, size_of

_CUTS = (2_000, 500, 200, 100, 40)


def fitted(elements: list[Element]) -> list[Element]:
    """The elements with texts cut so that the page stays readable; all of a text is in the element's detail."""
    sizes = [size_of(element) for element in elements]
    for longest in _CUTS:
        if sum(sizes) <= MAX_PAGE_BYTES:
            break
        for number, element in enumerate(elements):
            if sizes[number] > 4 * longest and element.category in ("table", "text"):
                _shorten(element, longest)
                sizes[number] = size_of(element)
    return elements


def _shorten(element: Element, longest: int) -> None:
    full = element.detail or dict(element.content)
    if element.category == "text":
        element.content = {"text": _cut(full["text"], longest)}
    else:
        rows = [[_cut(words, longest) for words in row] for row in full["rows"]]
        element.content = {"headers": [_cut(words, longest) for words in full["headers"]], "rows": rows}
    element.detail = full
    element.metadata["shortened"] = True


def _cut(words: str, longest: int) -> str:
    return words if len(words) <= longest else words[: longest - 1] + "…"
