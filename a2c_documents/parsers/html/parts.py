"""Single elements of a web page: pictures, players, formulas, code, form fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from selectolax.lexbor import LexborNode

from a2c_documents.model import Element, note
from a2c_documents.parsers.common.pictures import picture_element
from a2c_documents.parsers.html.furniture import attribute

MAX_OPTIONS = 200
_SPACES = "\t\r\f\u200b\ufeff"
_EDGE = " \t\r\n\f\u00a0\u200b\ufeff"
_LANGUAGE = re.compile(r"(?:^|[\s-])(?:language|lang|highlight-source|highlight|brush:?)[-:\s]\s?([A-Za-z0-9+#_.]+)")
_NO_LANGUAGES = frozenset(("default", "none", "text", "plaintext", "source"))
_RENAMED = {"ipython3": "python", "python3": "python", "pycon": "python", "console": "bash", "shell": "bash"}
_LINE_TAGS = frozenset(("br", "div", "p", "li", "tr"))
_NOT_CODE = frozenset(("button", "script", "style", "template"))
_LINE_NUMBERS = frozenset(("lineno", "linenos"))
_VIDEO = re.compile(r"youtube|youtu\.be|vimeo|/embed/video|dailymotion", re.IGNORECASE)


def single_spaces(words: str, signs: str) -> str:
    """Text with one space for each sequence of spaces and `signs`."""
    # Twice as fast as a regular expression, which also finds and replaces each space that is single already.
    for sign in signs:
        if sign in words:
            words = words.replace(sign, " ")
    while "  " in words:
        words = words.replace("  ", " ")
    return words


def tidy(words: str) -> str:
    """Text as a browser shows it: single spaces, none at the ends of lines, no empty lines."""
    words = single_spaces(words, _SPACES).strip(_EDGE)
    if "\n" not in words:
        return words
    return "\n".join([line for part in words.split("\n") if (line := part.strip(_EDGE))])


def below(root: LexborNode, *, line_numbers: bool = True) -> Iterator[LexborNode]:
    """Every node below one, in document order, or all but the contents of line numbers of highlighted code."""
    # Without recursion, because nodes may be nested to any depth.
    node, above = root.first_child, 0
    while node is not None:
        yield node
        child = node.first_child
        if child is not None and node.tag not in _NOT_CODE and (line_numbers or not _has_line_numbers(node)):
            node, above = child, above + 1
            continue
        while node.next is None and above and node.parent is not None:
            node, above = node.parent, above - 1
        node = node.next


def text_of(root: LexborNode) -> str:
    """All words below a node, in one line."""
    return tidy(" ".join((node.text_content or "").replace("\n", " ") for node in below(root) if node.tag == "-text"))


def raw_text(root: LexborNode) -> str:
    """The words below a node with their spaces and line breaks, as code needs them."""
    found: list[str] = []
    for node in below(root, line_numbers=False):
        if node.tag == "-text":
            found.append(node.text_content or "")
        elif node.tag in _LINE_TAGS and found and not found[-1].endswith("\n"):
            found.append("\n")
    return "".join(found)


def _has_line_numbers(node: LexborNode) -> bool:
    # On a `code` element the class asks a script for line numbers: the element has the code itself.
    if node.tag == "a" and "data-nosnippet" in node.attributes:
        return True
    return node.tag != "code" and not _LINE_NUMBERS.isdisjoint(attribute(node, "class").split())


def language_of(pre: LexborNode) -> str:
    """The language that is named in a class of the block, of the code in it, or of the elements around it."""
    child = pre.first_child
    # GitHub puts the class on the element around the block, and Sphinx on the one around that.
    near = [pre, child if child is not None and child.is_element_node else None, pre.parent]
    near.append(pre.parent.parent if pre.parent is not None else None)
    for node in near:
        if node is None or not node.is_element_node:
            continue
        if named := attribute(node, "data-lang") or attribute(node, "data-language"):
            return named.lower()
        for found in _LANGUAGE.finditer(attribute(node, "class")):
            name = found[1].lower()
            language = _RENAMED.get(name, name)
            if language not in _NO_LANGUAGES:
                return language
    return ""


def image_of(node: LexborNode) -> Element | None:
    """A picture; None for tracking pixels and decoration."""
    if node.tag == "svg":
        title = next((text_of(found) for found in below(node) if found.tag == "title"), "")
        alt = title or attribute(node, "aria-label").strip()
        # A drawing without a title is mostly an icon.
        return picture_element("", alt) if alt else None
    # Pages that load pictures late have only a placeholder in `src`.
    src = next((found for name in ("data-src", "data-original", "src") if (found := attribute(node, name).strip())), "")
    src = src or attribute(node, "srcset").split(",")[0].strip().split(" ")[0]
    alt = tidy(attribute(node, "alt")).replace("\n", " ")
    width, height = _pixels(node, "width"), _pixels(node, "height")
    if not (src or alt) or (width is not None and width <= 1) or (height is not None and height <= 1):
        return None
    shown = picture_element(src, alt, attribute(node, "title").strip())
    if width and height:
        shown.metadata["size"] = [width, height]
    return shown


def _pixels(node: LexborNode, name: str) -> int | None:
    value = attribute(node, name).strip().removesuffix("px")
    # A bound on the digits: `int` takes quadratic time for long numbers, and rejects very long ones.
    return int(value) if value.isdecimal() and len(value) < 7 else None


def embedded(node: LexborNode, absolute: Callable[[str], str]) -> Element | None:
    """A player, or an embedded page."""
    src = attribute(node, "src") or attribute(node, "data") or attribute(node, "data-src")
    if not src:
        src = next((attribute(found, "src") for found in below(node) if found.tag == "source"), "")
    src = "" if src.startswith(("data:", "javascript:", "about:")) else absolute(src.strip())
    label = attribute(node, "title") or attribute(node, "aria-label")
    if not (src or label):
        return None
    category = node.tag if node.tag in ("audio", "video") else "video" if _VIDEO.search(src) else "widget"
    if kind := attribute(node, "type").partition("/")[0]:
        category = kind if kind in ("audio", "video", "image") else category
    if category == "image":
        return picture_element(src, label)
    return note(category, label.strip() or src, url=src)


def math_of(node: LexborNode) -> tuple[str, bool]:
    """A formula as TeX if it is given, and whether it is inside a line of text."""
    # Converters to MathML keep the TeX source in one of these places. The words of MathML alone lose its structure.
    tex = attribute(node, "alttext")
    for found in below(node):
        if found.tag == "annotation" and "tex" in attribute(found, "encoding").lower():
            tex = text_of(found)
    inline = attribute(node, "display") != "block" and attribute(node, "mode") != "display"
    return tex.strip() or text_of(node), inline


def form_field(node: LexborNode) -> dict[str, Any] | None:
    """One form field; None for a hidden one. The values of passwords are left out."""
    kind = attribute(node, "type").lower() or ("text" if node.tag == "input" else node.tag)
    if kind in ("hidden", "image") or (node.tag == "button" and not text_of(node)):
        return None
    label = attribute(node, "aria-label") or attribute(node, "placeholder") or attribute(node, "title")
    if kind in ("submit", "reset", "button"):
        label = label or text_of(node) or attribute(node, "value") or kind
    field: dict[str, Any] = {"name": attribute(node, "name"), "type": kind, "label": label.strip()}
    value = attribute(node, "value")
    if node.tag == "select":
        options = [found for found in below(node) if found.tag == "option"]
        field["options"] = [text_of(found) for found in options[:MAX_OPTIONS]]
        value = next((text_of(found) for found in options if "selected" in found.attributes), "")
    elif node.tag == "textarea":
        value = raw_text(node)
    if kind in ("checkbox", "radio"):
        field["checked"] = "checked" in node.attributes
    field["value"] = "" if kind == "password" else value
    field["id"] = attribute(node, "id")
    return field


def form_element(fields: list[dict[str, Any]], labels: dict[str, str], action: str = "") -> Element:
    """A form with its fields and their labels."""
    for field in fields:
        field["label"] = labels.get(field.pop("id", ""), "") or field["label"]
    words = ", ".join(str(field["label"] or field["name"] or field["type"]) for field in fields)
    return note("form", words, fields=fields, **({"action": action} if action else {}))
