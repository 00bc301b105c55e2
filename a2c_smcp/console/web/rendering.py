"""Templates: every value is escaped, and text of peers is shown so that it can neither reorder nor hide what is around
it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from a2c_smcp.utils.text import one_line

FOLDER = Path(__file__).parent.parent / "templates"


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
        self._environment.filters["peer_plain"] = peer_plain

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A page."""
        return self._environment.get_template(template).render(values)


def peer(value: object, limit: int = 300) -> Markup:
    """A name or a line of a peer, isolated from the direction of the text around it."""
    return Markup("<bdi>") + escape(one_line(str(value), limit)) + Markup("</bdi>")


def peer_plain(value: object, limit: int = 300) -> str:
    """A name of a peer, where there can be no markup, as in the title of a page."""
    return one_line(str(value), limit)
