"""Templates: every value is escaped, and text of peers is shown so that it can neither reorder nor hide what is around
it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from a2c_smcp.utils.text import one_line, printable

FOLDER = Path(__file__).parent.parent / "templates"
MOST_TEXT = 10_000


class Templates:
    """The templates of the console."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["peer"] = peer
        self._environment.filters["peer_text"] = peer_text
        self._environment.filters["attribute_json"] = attribute_json

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A page."""
        return self._environment.get_template(template).render(values)


def peer(value: object, limit: int = 300) -> Markup:
    """A name or a line of a peer, isolated from the direction of the text around it."""
    return Markup("<bdi>") + escape(one_line(str(value), limit)) + Markup("</bdi>")


def peer_text(value: object, limit: int = MOST_TEXT) -> Markup:
    """Several lines of a peer."""
    return Markup("<bdi>") + escape(printable(str(value), limit)) + Markup("</bdi>")


def attribute_json(value: object) -> str:
    """Data for a `data-…` attribute, which a module reads."""
    return json.dumps(value, separators=(",", ":"))
