"""Which files are documents, and what they are called."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_documents.folder.files import FileRules, Folder, refer_to
from a2c_smcp.utils.dpe_uri import build_dpe_uri, parse_dpe_uri
from tests.support.systems import posix_only


def names(folder: Path, **rules: object) -> set[str]:
    found = Folder(folder, FileRules(**rules)).scan() or {}  # pyright: ignore[reportArgumentType]
    return {path.relative_to(folder).as_posix() for path in found}


def write(folder: Path, *relative: str, text: str = "x") -> None:
    for name in relative:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_all_files_are_documents_but_hidden_ones_and_rubbish(files: Path) -> None:
    write(files, "a.txt", "deep/down/b.md", ".hidden", ".git/config", "node_modules/x.js", "~$a.docx", "a.tmp")
    assert names(files) == {"a.txt", "deep/down/b.md"}
    assert names(files, hidden=True) >= {".hidden", "a.txt"}


def test_patterns_include_and_exclude(files: Path) -> None:
    write(files, "a.txt", "a.pdf", "old/b.pdf", "old/c.txt")
    assert names(files, include=["*.pdf"]) == {"a.pdf", "old/b.pdf"}
    assert names(files, exclude=["old/"]) == {"a.txt", "a.pdf"}
    assert names(files, include=["*.pdf"], exclude=["old/"]) == {"a.pdf"}


def test_ignore_files_say_what_is_no_document(files: Path) -> None:
    write(files, "a.txt", "b.log", "keep.log", "sub/c.log", "sub/d.txt", "sub/deep/d.txt")
    write(files, ".gitignore", text="*.log\n!keep.log\n")
    write(files, "sub/.a2cignore", text="d.txt\n")
    assert names(files) == {"a.txt", "keep.log"}


def test_an_inner_ignore_file_takes_back_what_an_outer_one_says(files: Path) -> None:
    write(files, "a.log", "sub/keep.log", "sub/b.log", "sub/deep/keep.log", "sub/deep/c.log", "shut/keep.log")
    write(files, ".gitignore", text="*.log\nshut/\n")
    write(files, "sub/.gitignore", text="!keep.log\n")
    write(files, "sub/deep/.gitignore", text="*\n")
    write(files, "shut/.gitignore", text="!keep.log\n")
    assert names(files) == {"sub/keep.log"}, "what lies in an ignored directory stays ignored"


def test_what_a_person_excludes_no_file_takes_back(files: Path) -> None:
    write(files, "secret.txt", "open.txt", "a.tmp", "b.tmp")
    write(files, ".gitignore", text="!secret.txt\n!a.tmp\n")
    assert names(files, exclude=["secret*"]) == {"open.txt", "a.tmp"}
    assert names(files, exclude=["*.txt", "!open.txt"]) == {"open.txt", "a.tmp"}
    write(files, ".gitignore", text="*.txt\n")
    assert names(files, exclude=["!open.txt"]) == {"open.txt"}


def test_directories_may_be_included(files: Path) -> None:
    write(files, "a.txt", "docs/b.txt", "docs/deep/c.txt", "docs/draft.txt")
    assert names(files, include=["docs/"]) == {"docs/b.txt", "docs/deep/c.txt", "docs/draft.txt"}
    assert names(files, include=["docs/", "!draft.txt"]) == {"docs/b.txt", "docs/deep/c.txt"}
    assert names(files, include=["/*.txt"]) == {"a.txt"}


@pytest.mark.parametrize(
    ("patterns", "ignored"),
    [
        ("b", {"b", "sub/b", "sub/deep/b"}),
        ("/b", {"b"}),
        ("b/", set[str]()),
        ("deep/", {"sub/deep/b", "sub/deep/x.log"}),
        ("sub/b", {"sub/b"}),
        ("sub/*", {"sub/b", "sub/x.log", "sub/deep/b", "sub/deep/x.log"}),
        ("sub/**/b", {"sub/b", "sub/deep/b"}),
        ("**/deep/b", {"sub/deep/b"}),
        ("sub/**", {"sub/b", "sub/x.log", "sub/deep/b", "sub/deep/x.log"}),
        ("*.log\n!/x.log", {"sub/x.log", "sub/deep/x.log"}),
        ("*\n!b", {"x.log", "sub/b", "sub/x.log", "sub/deep/b", "sub/deep/x.log"}),
        ("*\n!*/\n!b", {"x.log", "sub/x.log", "sub/deep/x.log"}),
        ("[!b]", set[str]()),
        ("[a-c]", {"b", "sub/b", "sub/deep/b"}),
        ("[[:alpha:]]", {"b", "sub/b", "sub/deep/b"}),
        ("x.?og", {"x.log", "sub/x.log", "sub/deep/x.log"}),
        ("\\b", {"b", "sub/b", "sub/deep/b"}),
        ("b  ", {"b", "sub/b", "sub/deep/b"}),
        ("b\r", {"b", "sub/b", "sub/deep/b"}),
        ("\ufeff/b", {"b"}),
        ("#b\n[b\nb\\\n/\n!\n\n[[:odd:]]", set[str]()),
    ],
)
def test_patterns_mean_what_they_mean_to_git(files: Path, patterns: str, ignored: set[str]) -> None:
    everything = {"b", "x.log", "sub/b", "sub/x.log", "sub/deep/b", "sub/deep/x.log"}
    write(files, *everything)
    write(files, ".gitignore", text=patterns)
    assert names(files) == everything - ignored


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to ask")
@pytest.mark.parametrize("seed", range(10))
def test_git_ignores_the_same(files: Path, seed: int) -> None:
    chance = random.Random(seed)
    words = ["a", "b", "ab", "x.log", "keep.log", "a b", "#h", "!n", "é", "[x", "A"]
    marks = ["a", "b", "*", "?", "**", "[a-c]", "[!a]", "*.log", "keep*", "\\*", "[[:upper:]]", "[", "é", "x.log", " "]

    def pattern() -> str:
        parts = ["".join(chance.choices(marks, k=chance.randint(1, 2))) for _ in range(chance.randint(1, 3))]
        parts = ["**" if "**" in part else part for part in parts]
        ends = chance.choice(["", "", "!"]), chance.choice(["", "", "/"]), chance.choice(["", "", "/"])
        return ends[0] + ends[1] + "/".join(parts) + ends[2]

    def fill(directory: Path, depth: int) -> None:
        (directory / ".gitignore").write_text("\n".join(pattern() for _ in range(chance.randint(0, 4))))
        for name in chance.sample(words, 6):
            if depth < 3 and chance.random() < 0.4:
                (directory / name).mkdir()
                fill(directory / name, depth + 1)
            else:
                (directory / name).write_text("x")

    fill(files, 0)
    everything = {path.relative_to(files).as_posix() for path in files.rglob("*") if path.is_file()}
    everything = {name for name in everything if not name.endswith(".gitignore")}
    git = ["git", "-C", str(files), "-c", "core.excludesFile=", "-c", "core.ignoreCase=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    asked = subprocess.run(
        [*git, "check-ignore", "-z", "--stdin", "--no-index"],
        input="\0".join(everything).encode(),
        capture_output=True,
        check=False,
    )
    ignored = {name.decode() for name in asked.stdout.split(b"\0") if name}
    assert names(files) == everything - ignored


def test_no_pattern_keeps_anybody_busy(files: Path) -> None:
    write(files, "a" * 250)
    write(files, ".gitignore", text="\n".join(["a*" * 60 + "b", "**/a*" * 60 + "/b", "*[a]" * 60 + "!"]))
    assert names(files) == {"a" * 250}


def test_a_directory_that_cannot_be_looked_into_is_told_of_once(files: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(files, "a.txt")
    folder = Folder(files)
    shutil.rmtree(files)
    assert folder.scan() is None
    assert folder.scan() is None
    assert len(caplog.records) == 1
    write(files, "b.txt")
    assert set(folder.scan() or ()) == {files / "b.txt"}


@posix_only
def test_links_out_of_the_folder_are_not_followed(files: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside.txt", "outside/inner.txt")
    write(files, "inside.txt")
    os.symlink(tmp_path / "outside.txt", files / "link.txt")
    os.symlink(tmp_path / "outside", files / "linked")
    os.symlink(files / "inside.txt", files / "alias.txt")
    os.symlink(files, files / "loop")
    assert names(files) == {"inside.txt", "alias.txt"}


def test_one_file_is_looked_at_by_the_same_rules(files: Path, tmp_path: Path) -> None:
    write(files, "a.txt", "sub/b.txt", "sub/c.log", ".hid/x.txt")
    write(files, "sub/.gitignore", text="*.log\n")
    folder = Folder(files)
    everything = folder.scan() or {}
    for name in ("a.txt", "sub/b.txt"):
        assert folder.stamp(files / name) == everything[files / name]
    for name in ("sub/c.log", ".hid/x.txt", "not there", "sub"):
        assert folder.stamp(files / name) is None
    assert folder.stamp(tmp_path / "elsewhere") is None


@given(st.lists(st.text(min_size=1, max_size=30).filter(lambda name: "\x00" not in name), unique=True, max_size=20))
def test_references_are_unique_short_and_fit_into_addresses(paths: list[str]) -> None:
    references = refer_to([path.encode("utf-8", "ignore").decode() or "x" for path in paths])
    assert len(set(references.values())) == len(references)
    for reference in references.values():
        assert len(reference) <= 60
        assert parse_dpe_uri(build_dpe_uri("h", reference)).doc_ref == reference


def test_a_reference_stays_whatever_else_is_there() -> None:
    path = "a/Report 2026.pdf"
    assert refer_to([path])[path] == refer_to(["a", path, "b"])[path]
    assert refer_to([path])[path].startswith("report-2026-")
