"""Which files are documents, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.documents.folder import FileRules, Folder, refer_to
from a2c_smcp.utils.dpe_uri import build_dpe_uri, parse_dpe_uri


def names(folder: Path, **rules: object) -> set[str]:
    found = Folder(folder, FileRules(**rules)).scan()  # pyright: ignore[reportArgumentType]
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
    everything = folder.scan()
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
