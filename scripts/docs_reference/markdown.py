"""Pieces of markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column holds names."""
    lines = [header, ["---"] * len(header), *rows]
    piped = "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
    return f'<div class="names" markdown>\n\n{piped}\n\n</div>\n'


def code(text: str) -> str:
    """Inline code; nothing for an empty text."""
    return f"`{text}`" if text else ""


def prose(text: str) -> str:
    """A help text as paragraphs; what is indented in it is code, which nobody runs from here."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            commands = "\n".join(line[4:] for line in lines)
            parts.append(f"<!-- not run: an example of a help text -->\n\n```bash\n{commands}\n```")
        else:
            parts.append(" ".join(line.strip() for line in lines))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"[ \t\n]+", " ", text.strip()).replace("|", "\\|")
