"""What a person can fill in within an OpenDocument text: drop-downs, form fields taken over from Word, controls."""

from __future__ import annotations

from typing import Any

from a2c_documents.parsers.office.xml import attribute, found, local, words_of

_KINDS = {"FORMCHECKBOX": "checkbox", "FORMDROPDOWN": "choice", "FORMDATE": "date", "FORMTEXT": "text"}
_CONTROLS = {"checkbox": "checkbox", "dropdown": "choice", "combobox": "choice", "date": "date", "plain-text": "text"}
Entry = dict[str, Any]


def drop_down(node: Any) -> Entry:
    """A field of which one of several words is chosen."""
    labels = [part for part in node if local(part) == "label"]
    chosen = next((part for part in labels if attribute(part, "current-selected") == "true"), None)
    options = [value for part in labels if (value := attribute(part, "value"))]
    return {"name": attribute(node, "name"), "type": "choice", "value": attribute(chosen, "value"), "options": options}


def field_mark(node: Any) -> Entry | None:
    """A field as Word has them; None for one that only computes something."""
    kind = _KINDS.get(attribute(node, "type").rpartition(".")[2])
    if kind is None:
        return None
    said = {attribute(part, "name"): attribute(part, "value") for part in node if local(part) == "param"}
    listed = [
        attribute(part, "value")
        for part in node
        if local(part) == "param" and attribute(part, "name").lower().startswith("dropdown_listentry")
    ]
    name = "" if attribute(node, "name").startswith("__Fieldmark__") else attribute(node, "name")
    entry: Entry = {"name": name, "type": kind, "value": ""}
    if kind == "checkbox":
        entry["value"] = said.get("Checkbox_Checked", "").lower() == "true"
    elif kind == "choice":
        place = said.get("Dropdown_Selected", "")
        entry["value"] = listed[int(place)] if place.isdigit() and int(place) < len(listed) else ""
        entry["options"] = listed
    return entry


def control(node: Any) -> Entry | None:
    """A content control of newer files; None for one that is only drawn around a text."""
    kind = next((kind for name, kind in _CONTROLS.items() if attribute(node, name) == "true"), None)
    if kind is None:
        return None
    value: Any = "" if attribute(node, "showing-place-holder") == "true" else words_of(node)
    if kind == "checkbox":
        value = attribute(node, "checked") == "true"
    options = [attribute(part, "display-text") or attribute(part, "value") for part in found(node, "list-item")]
    name = attribute(node, "alias") or attribute(node, "tag")
    return {"name": name, "type": kind, "value": value} | ({"options": options} if options else {})


def shown(entry: Entry) -> str:
    """What stands in the text for a field without words of its own."""
    if entry["type"] == "checkbox":
        return "☒" if entry["value"] else "☐"
    return str(entry["value"])
