"""The pages of the documentation, taken apart: those that people write, and those that the code writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scripts.docs_reference import PAGES as GENERATED

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"""^(?:<!--\ not\ run:\ (?P<reason>.+?)\ -->\n\n)?
        ```(?P<language>[\w-]*)(?:\ title="(?P<title>[^"]+)")?\n
        (?P<code>.*?)^```$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r'^--8<-- "(?P<file>[^"]+)"$', re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. `reason` says why nobody runs it."""

    page: str
    line: int
    language: str
    title: str
    written: str
    """As it stands in the page."""
    reason: str | None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def included(self) -> Path | None:
        """The file that is the whole block."""
        found = _INCLUDE.fullmatch(self.written.strip())
        return ROOT / found["file"] if found is not None else None

    @cached_property
    def code(self) -> str:
        """As a reader sees it."""
        return _INCLUDE.sub(lambda found: (ROOT / found["file"]).read_text("utf-8"), self.written)

    @property
    def is_file(self) -> bool:
        """Whether the reader is to make a file of it."""
        return bool(re.fullmatch(r"[\w.-]+\.\w+", self.title))


@dataclass(frozen=True)
class Page:
    """A page by its place in the repository, or in `docs/` if the code writes it."""

    name: str
    text: str

    @property
    def blocks(self) -> list[Block]:
        """Its fenced blocks, in order."""
        return [
            Block(
                page=self.name,
                line=self.text.count("\n", 0, found.start("code")),
                language=found["language"],
                title=found["title"] or "",
                written=found["code"],
                reason=found["reason"],
            )
            for found in _BLOCK.finditer(self.text)
        ]

    def of(self, *languages: str) -> list[Block]:
        """The blocks in these languages that somebody can run."""
        return [block for block in self.blocks if block.language in languages and block.reason is None]


def page_at(path: Path) -> Page:
    return Page(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


WRITTEN = [page_at(path) for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))]
ALL = [*WRITTEN, *(Page(name, write()) for name, write in GENERATED.items())]
