"""The pages of the documentation and their code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from scripts.docs_hooks import LANGUAGES, SHOWN_FILE
from scripts.docs_reference import PAGES as GENERATED

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"""^(?:<!--\ not\ run:\ (?P<reason>.+?)\ -->\n\n)?
        ```(?P<language>[\w-]*)(?:\ title="(?P<title>[^"]+)")?\n
        (?P<code>.*?)^```$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block. `reason` says why it is not run."""

    page: str
    line: int
    language: str
    title: str
    code: str
    reason: str | None = None
    is_link: bool = False
    """Whether the page has a link that the site replaces with the file."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_file(self) -> bool:
        """Whether the reader saves it as a file."""
        return bool(re.fullmatch(r"[\w.-]+\.\w+", self.title))


@dataclass(frozen=True)
class Page:
    """A page by its place in the repository."""

    name: str
    text: str

    @property
    def blocks(self) -> list[Block]:
        """Its blocks of code, in order: those between fences, and the files that the site shows."""
        found = [*map(self._fenced, _BLOCK.finditer(self.text)), *map(self._shown, SHOWN_FILE.finditer(self.text))]
        return sorted(found, key=lambda block: block.line)

    def _fenced(self, found: re.Match[str]) -> Block:
        line = self.text.count("\n", 0, found.start("code"))
        return Block(self.name, line, found["language"], found["title"] or "", found["code"], found["reason"])

    def _shown(self, found: re.Match[str]) -> Block:
        file = ROOT / found["file"]
        language = LANGUAGES[file.suffix or file.name]
        line = self.text.count("\n", 0, found.start()) + 1
        return Block(self.name, line, language, found["file"], file.read_text("utf-8"), is_link=True)

    def of(self, *languages: str) -> list[Block]:
        """The blocks in these languages that can be run."""
        return [block for block in self.blocks if block.language in languages and block.reason is None]


def page_at(path: Path) -> Page:
    return Page(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))


ALL = [page_at(path) for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))]
WRITTEN = [page for page in ALL if page.name.removeprefix("docs/") not in GENERATED]
"""Pages that people write. The others are generated from the code."""
