"""Builds Markdown: tables, inline code and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column contains names."""
    lines = [header, ["---"] * len(header), *rows]
    piped = "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
    return f'<div class="names" markdown>\n\n{piped}\n\n</div>\n'


def code(text: str) -> str:
    """Return inline code, or nothing for an empty text."""
    return f"`{text}`" if text else ""


def prose(text: str) -> str:
    """Return a help text as paragraphs. Indented lines become code blocks that the tests do not run."""
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
