"""Hooks of the site builder: they replace a line that is only a link to a file outside `docs/` by the file itself.

A reader on a git host can follow the link. The site does not contain the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SHOWN_FILE = re.compile(r"^\[`(?P<file>[^`\]]+)`\]\((?:\.\./)+(?P=file)\)$", re.MULTILINE)
"""A line that is only a link to a file."""
LANGUAGES = {
    ".conf": "nginx",
    ".json": "json",
    ".py": "python",
    ".service": "ini",
    ".toml": "toml",
    ".yaml": "yaml",
    "Caddyfile": "caddy",
}
"""The language of a file, by its suffix or name."""
_MANY_LINES = 100


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the files instead of the links."""
    return SHOWN_FILE.sub(lambda found: _block(found["file"]), markdown)


def _block(file: str) -> str:
    path = ROOT / file
    text = path.read_text("utf-8")
    block = f'```{LANGUAGES[path.suffix or path.name]} title="{file}"\n{text}```'
    if text.count("\n") <= _MANY_LINES:
        return block
    return f"<details markdown>\n<summary>{file}</summary>\n\n{block}\n\n</details>"
