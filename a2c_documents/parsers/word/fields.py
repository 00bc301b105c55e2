"""What is computed or filled in: fields, controls, check boxes; and signs of fonts that have no letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from a2c_documents.parsers.office.ooxml import child, children, inside, is_on, own_text, value
from a2c_documents.parsers.office.xml import attribute, whole

MAX_VALUE = 2_000
_CONTROLS = {
    "w14:checkbox": "checkbox", "w:dropDownList": "choice", "w:comboBox": "choice", "w:date": "date", "w:text": "text",
}  # fmt: skip
_LINK = re.compile(r'\s*HYPERLINK\s+(?:"([^"]*)"|([^\s"\\]\S*))?')
_ANCHOR = re.compile(r'\\l\s+"([^"]*)"')
_GREEK = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_WINGDINGS = {
    0xFC: "✓", 0xFB: "✗", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0x78: "☒", 0xE0: "→", 0xDF: "←", 0xE8: "➔",
    0xD8: "➢", 0xA7: "▪", 0x6E: "■", 0x6C: "●", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0x52: "☼",
}  # fmt: skip
_SYMBOLS = {
    0xB7: "•", 0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB9: "≠", 0xB4: "×", 0xB0: "°", 0xAE: "→", 0xA5: "∞", 0xE5: "∑",
}  # fmt: skip


@dataclass(slots=True)
class Field:
    """A field that has begun: its code, where its result starts, and what a person can enter."""

    entry: dict[str, Any] | None = None
    in_code: bool = True
    code: str = ""
    start: int = 0
    url: str = ""

    @property
    def shown(self) -> str:
        """What stands in the text for an entry without a result of its own."""
        entry = self.entry or {}
        if entry.get("type") == "checkbox":
            return "☒" if entry["value"] else "☐"
        return str(entry.get("value", ""))

    def answered(self, words: str) -> dict[str, Any]:
        """The entry with what was entered."""
        entry = self.entry or {}
        return entry if entry.get("type") == "checkbox" or not words else {**entry, "value": words}


def entry_of(data: Any | None) -> dict[str, Any] | None:
    """What a person can enter into a field of the older kind."""
    if data is None:
        return None
    entry: dict[str, Any] = {"name": value(data, "w:name"), "type": "text", "value": ""}
    if (box := child(data, "w:checkBox")) is not None:
        told = "w:checked" if child(box, "w:checked") is not None else "w:default"
        return {**entry, "type": "checkbox", "value": is_on(box, told)}
    if (drop := child(data, "w:ddList")) is not None:
        options = [attribute(option, "val") for option in children(drop, "w:listEntry")]
        picked = whole(value(drop, "w:result") or value(drop, "w:default"))
        shown = options[picked] if 0 <= picked < len(options) else ""
        return {**entry, "type": "choice", "value": shown, "options": options}
    return {**entry, "value": value(data, "w:textInput", "w:default")}


def controls(control: Any) -> Iterator[dict[str, Any]]:
    """The field that a content control is. One that only repeats a property of the document is none."""
    properties = child(control, "w:sdtPr")
    found = next((node for name in _CONTROLS for node in children(properties, name)), None)
    if found is None or "ropert" in _binding(properties):
        return
    name = value(properties, "w:alias") or value(properties, "w:tag")
    kind = next(kind for label, kind in _CONTROLS.items() if child(properties, label) is found)
    if kind == "checkbox":
        yield {"name": name, "type": kind, "value": is_on(found, "w14:checked")}
        return
    words = ""
    if not is_on(properties, "w:showingPlcHdr") and (content := child(control, "w:sdtContent")) is not None:
        words = "".join(own_text(node) for node in inside(content, "w:t"))[:MAX_VALUE]
    entry: dict[str, Any] = {"name": name, "type": kind, "value": words}
    options = [attribute(node, "displayText") or attribute(node, "value") for node in children(found, "w:listItem")]
    yield {**entry, "options": options} if options else entry


def _binding(properties: Any) -> str:
    node = child(properties, "w:dataBinding")
    return attribute(node, "prefixMappings") + attribute(node, "xpath") if node is not None else ""


def target_of(code: str) -> str:
    """Where a field leads that is a link."""
    code = code[:4_000]
    if (found := _LINK.match(code)) is None:
        return ""
    anchor = _ANCHOR.search(code)
    return (found[1] or found[2] or "") + (f"#{anchor[1]}" if anchor else "")


def symbol(font: str, code: str) -> str:
    """A sign by its number in a font."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    low = number & 0xFF if 0xF000 <= number <= 0xF0FF else number
    if font.lower().startswith("wingdings"):
        return _WINGDINGS.get(low, "•")
    if font.lower() == "symbol":
        letter = chr(low) if low < 0x80 else ""
        if letter.isalpha():
            greek = _GREEK[ord(letter.lower()) - ord("a")]
            return greek if letter.islower() else greek.upper()
        return letter or _SYMBOLS.get(low, "•")
    # The private area and what is no character at all.
    return chr(number) if 0x20 <= number < 0xD800 or 0xF900 <= number <= 0x10FFFF else "•"
