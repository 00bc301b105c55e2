"""The page of the examples: the description of each file in `examples/`, and the file."""

from __future__ import annotations

import ast
from pathlib import Path

from a2c_smcp.computer.config.files import load_config

from .markdown import code

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "examples"
INTRODUCTION = """\
# Examples

This page lists programs that you can run and adapt. They are in the folder `examples/` and are tested. The docstring of
each says what it needs and how to run it. Those that need a Server and a Computer use the ones of
[Write an Agent](agent.md), or those that `A2C_URL`, `A2C_OFFICE` and `A2C_API_KEY` name.
"""


def files() -> list[Path]:
    """Return the files of the examples."""
    return sorted(path for path in FOLDER.iterdir() if path.suffix in (".py", ".json"))


def page() -> str:
    """Return the page."""
    folder = "`library/` contains the documents that `a2c up` serves if you do not name a folder.\n"
    return "\n".join([INTRODUCTION, folder, *map(_section, files())])


def about(path: Path) -> str:
    """Describe a file: the first paragraph of its docstring, or the servers in it."""
    if path.suffix == ".json":
        names = ", ".join(code(server.name) for server in load_config(path, expand=False).servers)
        return f"A configuration of a Computer with the MCP servers {names}."
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _section(path: Path) -> str:
    place = path.relative_to(ROOT).as_posix()
    return f"## {path.name}\n\n{about(path)}\n\n[`{place}`](../{place})\n"
