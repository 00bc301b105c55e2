"""Everything that a page tells a reader to type works, and everything it shows is valid.

Each fenced block is one of these, or the test fails:

- `bash` is run line by line and `python` as a whole, in the order of the page, beside a Server and a Computer; what
  follows `print(…)  # ` in a program is what it prints;
- a block with a title that is the name of a file is such a file, for what comes after it;
- `json` and `toml` have a title that says what they are, and are read by our own readers;
- `nginx`, `caddy`, `ini` and `yaml` are links to files of `deploy/`, which has tests of its own; the site shows them;
- any block after `<!-- not run: … -->` is left alone, if the reason is one of those below.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from scripts import docs_terminal
from scripts.docs_reference import PAGES as GENERATED
from scripts.docs_reference import written
from tests.support.doc_files import check_json, check_toml
from tests.support.doc_terminal import Terminal
from tests.support.links import is_dead, links_of
from tests.support.pages import ALL, DOCS, ROOT, WRITTEN, Block, Page, page_at
from tests.support.process import WarmProcess
from tests.support.running import running

REASONS = {
    "a signature",
    "a usage line",
    "an example of a help text",
    "an example of mistakes",
    "it installs packages",
    "it needs Docker",
    "it needs Redis",
    "it needs the host",
    "it needs a key for administration",
    "it needs a remote MCP server",
}
"""Why a block may be left alone."""
LANGUAGES = {"bash", "python", "json", "toml"}
OF_DEPLOY = {"nginx", "caddy", "ini", "yaml"}
TWINS = {"README.md": "README.zh-CN.md", "docs/quickstart.md": "docs/quickstart.zh-CN.md"}
BLOCKS = [block for page in ALL for block in page.blocks]
FOLLOWED = [page for page in WRITTEN if page.of("bash", "python") and page.name not in TWINS.values()]
"""A twin tells to do what its original tells."""

PICTURES = sorted((DOCS / "pictures").glob("*.svg"))
PHONE_PIXELS = 340
"""How wide a picture is on a screen of 380 pixels."""
SMALLEST_LETTERS = 11
FOLDERS = ("", "docs/**/", "deploy/", "examples/", "benchmarks/")
LINKING = [path for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}*.md"))]
"""What may be read, in the repository, as a page."""


def named(items: list[Block]) -> list[object]:
    return [pytest.param(item, id=item.place) for item in items]


@pytest.fixture(scope="module")
def quiet_server() -> Generator[str]:
    """A Server in which nobody is; its address."""
    with running("async") as server:
        yield server.url


@pytest.fixture(scope="module")
def demo_office() -> Generator[str]:
    """A Server, and `my-laptop` in the office `demo`, as in the other terminals of the pages; the Server's address."""
    flags = ("--config", "examples/mcp.json", "--office", "demo", "--name", "my-laptop")
    # The pages share the office: a host on one page must not keep the Agent's seat from the next page.
    with running("async", mcp_options={"linger": 0.0}) as server:
        command = ["a2c", "computer", "--no-interactive", "--url", server.url, *flags]
        with contextlib.closing(WarmProcess(command, cwd=ROOT)) as computer:
            computer.wait_for("in office demo")
            computer.wait_for("2 of 2 MCP servers ready")
            yield server.url


# ----------------------------------------------------------------------------------------------------------- the blocks


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_every_block_is_of_a_kind_that_is_checked(page: Page) -> None:
    fenced = [block for block in page.blocks if not block.is_link]
    assert len(fenced) * 2 == len(re.findall(r"^ *```", page.text, re.MULTILINE)), "a fence is not understood"
    for block in page.blocks:
        if block.reason is not None:
            assert block.reason in REASONS, f"{block.place}: {block.reason}"
        elif block.language in OF_DEPLOY:
            assert block.is_link, f"{block.place}: a link to a file of deploy/ is expected"
            assert block.title.startswith("deploy/"), block.place
        elif block.language or not page.name.startswith("README"):  # there, a block without a language is a drawing
            assert block.language in LANGUAGES, f"{block.place}: there is no check for {block.language or 'this'}"


@pytest.mark.parametrize("block", named([b for b in BLOCKS if b.language == "python" and b.title and not b.reason]))
def test_programs_can_be_compiled(block: Block) -> None:
    compile(block.code, block.title, "exec")


def test_programs_pass_a_strict_type_checker(tmp_path: Path) -> None:
    """All in one run: starting the checker takes longer than checking."""
    for block in BLOCKS:
        if block.language == "python" and not block.is_link and block.reason is None:
            (tmp_path / f"{re.sub(r'[^a-z]', '_', block.page.lower())}_{block.line}.py").write_text(block.code, "utf-8")
    settings: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pyright"]
    here = {"include": ["."], "extraPaths": [str(ROOT)], "stubPath": str(ROOT / "typings"), "venvPath": str(ROOT)}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({**settings, **here}), "utf-8")
    command = [sys.executable, "-m", "pyright", "--project", str(tmp_path)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_a_page_can_be_followed_from_top_to_bottom(
    page: Page, tmp_path: Path, demo_office: str, quiet_server: str
) -> None:
    with Terminal(tmp_path, demo_office, quiet_server) as terminal:
        for block in page.of("bash", "python", "json", "toml"):
            if block.is_file:
                terminal.save(block.title, block.code)
            elif block.language == "python" and not block.title:
                terminal.run(block.code)
            elif block.language == "bash":
                for line in block.code.splitlines():
                    terminal.type(line)


@pytest.mark.parametrize("block", named([b for b in BLOCKS if b.language == "json" and b.reason is None]))
def test_json_is_what_its_title_says(block: Block) -> None:
    check_json(block.title, block.code)


@pytest.mark.parametrize("block", named([b for b in BLOCKS if b.language == "toml" and b.reason is None]))
def test_toml_is_what_its_title_says(block: Block, tmp_path: Path) -> None:
    check_toml(block.title, block.code, tmp_path)


# ------------------------------------------------------------------------------------------------------------ the pages


@pytest.mark.parametrize(("english", "chinese"), TWINS.items())
def test_a_chinese_twin_has_the_same_code_and_sections(english: str, chinese: str) -> None:
    one, other = page_at(ROOT / english), page_at(ROOT / chinese)
    assert [b.code for b in one.of("bash", "python")] == [b.code for b in other.of("bash", "python")]
    assert len(re.findall(r"^## ", one.text, re.MULTILINE)) == len(re.findall(r"^## ", other.text, re.MULTILINE))


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere_in_the_repository(path: Path) -> None:
    assert not [target for target in links_of(path) if is_dead(target, path)]


@pytest.mark.parametrize("place", GENERATED)
def test_a_page_that_the_code_writes_is_current(place: str) -> None:
    file = DOCS / place
    assert file.exists(), f"docs/{place} is missing: run `make docs`"
    assert file.read_text("utf-8") == written(place), f"docs/{place} is out of date: run `make docs`"


def test_the_picture_of_a_terminal_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)  # which the drawing sets, as it does the path
    monkeypatch.setenv("PATH", os.environ["PATH"])
    assert docs_terminal.PICTURE.read_text("utf-8") == docs_terminal.drawn(), "it is out of date: run `make docs`"


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_can_be_read_on_a_phone(path: Path) -> None:
    text = path.read_text("utf-8")
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', text)[0])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:[^;}]*?([\d.]+)px", text)]
    assert min(sizes) * PHONE_PIXELS / width >= SMALLEST_LETTERS


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_a_page_begins_with_its_title_and_what_it_is_for(page: Page) -> None:
    title, blank, first = page.text.split("\n", 2)
    assert title.startswith("# ")
    assert not blank
    assert first.strip()


def test_messages_on_the_page_of_troubles_are_those_of_the_code() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "a2c_smcp").rglob("*.py"))
    said = re.sub(r'"\s*\n\s*f?"', "", sources) + os.strerror(errno.EADDRINUSE)
    rows = re.findall(r"^\| (`.*?`.*?) \|", (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 20
    for message in re.findall("`(.*?)`", "".join(rows)):
        assert all(words.strip(" :") in said for words in message.split("…")), f"nobody says: {message}"
