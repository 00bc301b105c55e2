"""The page of the examples: what each file in `examples/` says of itself, and the file."""

from __future__ import annotations

import ast
from pathlib import Path

from a2c_smcp.computer.config.files import load_config

from .markdown import code

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "examples"
INTRODUCTION = """\
# Examples

Here you find programs to start from. They are in `examples/` of this project, and each is run by its tests. Each says
at its top what it needs and how it is run; those that need a Server and a Computer find them as on
[the Agent's page](agent.md), or where `A2C_URL`, `A2C_OFFICE` and `A2C_API_KEY` say.
"""


def files() -> list[Path]:
    """The examples, each a file."""
    return sorted(path for path in FOLDER.iterdir() if path.suffix in (".py", ".json"))


def page() -> str:
    """The page."""
    folder = "`library/` has the documents that `a2c up` offers unless you name a folder of yours.\n"
    return "\n".join([INTRODUCTION, folder, *map(_section, files())])


def about(path: Path) -> str:
    """What a file is: the first paragraph of its docstring, or the servers in it."""
    if path.suffix == ".json":
        names = ", ".join(code(server.name) for server in load_config(path, expand=False).servers)
        return f"A Computer's configuration with the MCP servers {names}."
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _section(path: Path) -> str:
    place = path.relative_to(ROOT).as_posix()
    return f"## {path.name}\n\n{about(path)}\n\n[`{place}`](../{place})\n"
