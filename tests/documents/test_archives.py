"""Archives: what is in them are documents, bounded, and never written anywhere but to a temporary folder."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from a2c_documents.folder.files import FileRules, Folder
from a2c_documents.library.library import Library
from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.archives.archive_file import open_archive_file
from a2c_documents.parsers.archives.containers import open_container
from a2c_documents.server.addresses import read as read_address
from a2c_documents.store.store import Store
from a2c_documents.workers.pool import Workers
from a2c_documents.workers.unpacking import MAX_COPIES, Unpacking
from tests.support.documents.archive_files import (
    FILES,
    add,
    unicode_name,
    with_password,
    write_gzip_bomb,
    write_tar,
    write_zip,
    write_zip_with_names,
)
from tests.support.documents.libraries import CountingWorkers, MakeLibrary
from tests.support.documents.reading import read
from tests.support.systems import linux_only

WRITERS: dict[str, Callable[[Path], Path]] = {
    "a.zip": write_zip,
    "a.tar": write_tar,
    "a.tar.gz": partial(write_tar, pack=gzip.compress),
    "a.tgz": partial(write_tar, pack=gzip.compress),
    "a.tar.bz2": partial(write_tar, pack=bz2.compress),
    "a.txz": partial(write_tar, pack=lzma.compress),
}


def names_in(path: Path) -> dict[str, str]:
    """The names of the files in an archive, and why they are not read."""
    container = open_container(path)
    try:
        return {entry.name: entry.problem for entry in container.entries}
    finally:
        container.close()


def relatives(library: Library) -> list[str]:
    return sorted(document.relative for document in library.documents.values())


# ------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_an_archive_lists_its_files(name: str, tmp_path: Path) -> None:
    found = read(open_archive_file, WRITERS[name](tmp_path / name))
    assert [row[0] for row in found.of("table")[0]["rows"]] == list(FILES)
    assert [member[:2] for member in found.facts.members] == [[name, len(body)] for name, body in FILES.items()]
    unpacking = Unpacking(lambda path: None)
    copies = [unpacking.file(tmp_path / name / inner) for inner in FILES]
    assert [copy.name for copy in copies] == ["tea.md", "prices.csv"]
    assert [copy.read_bytes() for copy in copies] == list(FILES.values())
    unpacking.close()
    assert not any(copy.exists() for copy in copies)


def test_a_compressed_file_is_an_archive_of_one(tmp_path: Path) -> None:
    (tmp_path / "tea.log.gz").write_bytes(gzip.compress(b"words"))
    assert names_in(tmp_path / "tea.log.gz") == {"tea.log": ""}
    unpacking = Unpacking(lambda path: None)
    assert unpacking.file(tmp_path / "tea.log.gz" / "tea.log").read_bytes() == b"words"
    unpacking.close()


def test_what_leads_elsewhere_is_listed_but_not_read(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("../../up.txt", "good/./tea.txt", "/etc/passwd", "..\\up.txt", "a\nb", "__MACOSX/._tea.txt"):
            archive.writestr(zipfile.ZipInfo(name), b"x")
        archive.writestr(link, "/etc/passwd")
    found = names_in(tmp_path / "a.zip")
    assert {name for name, problem in found.items() if not problem} == {"good/tea.txt", "etc/passwd"}
    assert found["link"] == "a link"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "tea.txt", b"x")
        add(archive, "soft", kind=tarfile.SYMTYPE, link="/etc/passwd")
        add(archive, "hard", kind=tarfile.LNKTYPE, link="tea.txt")
        add(archive, "device", kind=tarfile.CHRTYPE)
        add(archive, "../up.txt", b"x")
    found = names_in(tmp_path / "a.tar")
    assert {name for name, problem in found.items() if not problem} == {"tea.txt"}
    assert len(found) == 5


def test_files_with_a_password_are_reported_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(with_password(write_zip(tmp_path / "a.zip").read_bytes(), "tea.md"))
    found = read(open_archive_file, tmp_path / "a.zip")
    table = found.of("table")[0]
    assert table["headers"][-1] == "Not read"
    assert [row[-1] for row in table["rows"]] == ["needs a password", ""]
    assert [member[0] for member in found.facts.members] == ["lists/prices.csv"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([b"Fr\x81hling.txt", b"caf\x82.txt"], ["Frühling.txt", "café.txt"]),
        (["Зелёный чай.txt".encode(), b"x.txt"], ["Зелёный чай.txt", "x.txt"]),
        (
            ["緑茶の種類と値段の一覧.txt".encode("cp932"), "日本の新しいお茶の説明.txt".encode("cp932")],
            ["緑茶の種類と値段の一覧.txt", "日本の新しいお茶の説明.txt"],
        ),
        (["Gr\u00fcner Tee.txt".encode("cp1252")], ["Grüner Tee.txt"]),
    ],
)
def test_names_of_other_machines_are_decoded(names: list[bytes], expected: list[str], tmp_path: Path) -> None:
    write_zip_with_names(tmp_path / "a.zip", {name: b"x" for name in names})
    assert list(names_in(tmp_path / "a.zip")) == expected


def test_a_name_in_utf_8_beside_another_one_is_used(tmp_path: Path) -> None:
    raw = b"?\x81?.txt"
    write_zip_with_names(tmp_path / "a.zip", {raw: b"x"}, unicode_name("緑茶.txt", raw))
    assert list(names_in(tmp_path / "a.zip")) == ["緑茶.txt"]
    write_zip_with_names(tmp_path / "b.zip", {raw: b"x"}, unicode_name("緑茶.txt", b"another name"))
    assert list(names_in(tmp_path / "b.zip")) == ["?ü?.txt"]


# -------------------------------------------------------------------------------------------------------------- bounds


def write_copies(path: Path, size: int, copies: int) -> None:
    """Entries that share the bytes of one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.txt", bytes(size))
        archive.filelist += archive.filelist * copies


@pytest.mark.parametrize(("size", "copies", "problem"), [(10_000_000, 100, "times its size"), (0, 50_000, "limit")])
def test_bombs_are_rejected(size: int, copies: int, problem: str, tmp_path: Path) -> None:
    write_copies(tmp_path / "a.zip", size, copies)
    with pytest.raises(UnreadableFileError, match=problem):
        open_archive_file(tmp_path / "a.zip")


def test_a_compressed_bomb_is_rejected(tmp_path: Path) -> None:
    write_gzip_bomb(tmp_path / "a.tar.gz", 1_000_000_000)
    with pytest.raises(UnreadableFileError, match=r"more than \d+ MB"):
        open_archive_file(tmp_path / "a.tar.gz")


def test_a_large_file_is_listed_but_not_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("large.bin")
        member.size = 100_000_001
        with (tmp_path / "hole").open("wb+") as hole:
            hole.truncate(member.size)
            archive.addfile(member, hole)
    assert names_in(tmp_path / "a.tar") == {"large.bin": "larger than 100 MB"}


def test_more_files_than_a_folder_should_have_are_listed_but_not_read(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {f"{number}.txt": b"x" for number in range(2_100)})
    found = read(open_archive_file, tmp_path / "a.zip")
    assert len(found.facts.members) == 2_000
    assert "100 further files" in found.of("annotation")[-1]["text"]


def test_copies_are_bounded(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", {f"{number}.txt": b"x" for number in range(MAX_COPIES + 3)})
    forgotten: list[Path] = []
    unpacking = Unpacking(forgotten.append)
    copies = [unpacking.file(tmp_path / "a.zip" / f"{number}.txt") for number in range(MAX_COPIES + 3)]
    assert [path.name for path in forgotten] == ["0.txt", "1.txt", "2.txt"]
    assert [copy.exists() for copy in copies] == [False] * 3 + [True] * MAX_COPIES
    unpacking.close()


# ------------------------------------------------------------------------------------------------------------- library


@pytest.mark.anyio
async def test_the_files_in_archives_are_documents(files: Path, make_library: MakeLibrary, tmp_path: Path) -> None:
    inner = write_zip(tmp_path / "inner.zip", {"deep.txt": b"matcha", "c.zip": b""})
    write_zip(files / "a.zip", FILES | {"inner.zip": inner.read_bytes(), ".hidden": b"x", "lists/~$lock.docx": b"x"})
    write_tar(files / "b.tgz", {"tea.md": FILES["tea.md"]}, gzip.compress)
    library = make_library()
    await library.look()
    assert relatives(library) == ["a.zip", "b.tgz"]
    listed: list[dict[str, Any]] = (await library.catalogue())["documents"]
    assert relatives(library) == [
        "a.zip", "a.zip/inner.zip", "a.zip/inner.zip/c.zip", "a.zip/inner.zip/deep.txt", "a.zip/lists/prices.csv",
        "a.zip/tea.md", "b.tgz", "b.tgz/tea.md",
    ]  # fmt: skip
    by_uri = {entry["file_uri"].removeprefix(files.as_uri()): entry for entry in listed}
    tea = by_uri["/a.zip#tea.md"]
    assert (tea["title"], tea["file_type"], tea["last_modified"]) == ("Tea", "md", "2026-01-05T10:00:00")
    assert by_uri["/b.tgz#tea.md"]["last_modified"] == "2026-01-05T10:00:00Z"
    (hit,) = await library.search("matcha", 5)
    answer = await read_address(library, hit["page_uri"])
    assert answer.body["elements"][0]["content"] == {"text": "matcha"}
    assert len(await library.search("oolong", 5)) == 1, "copies are one content"
    # The reference depends on the path only.
    again = make_library(store=Store(None))
    await again.look()
    page = await read_address(again, f"{tea['uri']}/pages/0?format=markdown")
    assert "Words of oolong" in page.body["content_markdown"], "without a catalogue before"


@pytest.mark.anyio
async def test_requests_at_the_same_time_get_all_documents(files: Path, make_library: MakeLibrary) -> None:
    write_zip(files / "a.zip", {f"{number}.txt": b"words" for number in range(30)})
    library = make_library()
    await library.look()
    found = await asyncio.gather(*(library.catalogue() for _ in range(3)))
    assert [catalogue["total_count"] for catalogue in found] == [31] * 3
    other = make_library(store=Store(None))
    await other.look()
    await other.document(next(iter(other.documents)))
    assert (await other.catalogue())["total_count"] == 31, "after the archive was read for itself"


@pytest.mark.anyio
async def test_a_restart_opens_no_archive(files: Path, make_library: MakeLibrary) -> None:
    write_zip(files / "a.zip")
    first = make_library()
    await first.look()
    await first.search("oolong", 5)
    await first.close()
    workers = CountingWorkers()
    again = make_library(workers=workers)
    await again.look()
    assert relatives(again) == ["a.zip", "a.zip/lists/prices.csv", "a.zip/tea.md"]
    assert len(await again.search("oolong", 5)) == 1
    assert workers.asked == []


@pytest.mark.anyio
async def test_only_the_files_that_changed_in_an_archive_are_announced(files: Path, make_library: MakeLibrary) -> None:
    write_zip(files / "a.zip", FILES | {"old.txt": b"old"})
    library = make_library()
    await library.look()
    await library.read_all()
    library.take_news()
    refs = {document.relative: ref for ref, document in library.documents.items()}
    write_zip(files / "a.zip", FILES | {"tea.md": b"# Other tea\n", "new.txt": b"new"})
    news = await library.look()
    assert (news.is_list_changed, news.updated) == (False, {refs["a.zip"]})
    await library.read_all()
    news = library.take_news()
    assert (news.is_list_changed, news.updated) == (True, {refs["a.zip/tea.md"]})
    assert relatives(library) == ["a.zip", "a.zip/lists/prices.csv", "a.zip/new.txt", "a.zip/tea.md"]
    assert (await library.document(refs["a.zip/tea.md"]))["title"] == "Other tea"
    (files / "a.zip").unlink()
    assert (await library.look_at([files / "a.zip"])).is_list_changed
    assert relatives(library) == []


@pytest.mark.anyio
async def test_rules_are_for_files_in_archives_too(files: Path, make_library: MakeLibrary) -> None:
    write_zip(files / "a.zip")
    (files / ".a2cignore").write_text("*.csv\n")
    library = make_library(rules=FileRules(include=["*.zip"]))
    await library.look()
    await library.read_all()
    assert relatives(library) == ["a.zip", "a.zip/tea.md"]
    (files / ".a2cignore").write_text("*.md\n")
    await library.look()
    await library.read_all()
    assert relatives(library) == ["a.zip", "a.zip/lists/prices.csv"]


@pytest.mark.anyio
async def test_files_of_a_folder_that_becomes_an_archive_are_gone(files: Path, make_library: MakeLibrary) -> None:
    folder = files / "a.zip"
    folder.mkdir()
    (folder / "old.txt").write_text("words")
    library = make_library()
    await library.look()
    shutil.rmtree(folder)
    write_zip(folder)
    await library.look_at([folder / "old.txt", folder, folder / "tea.md"])
    assert relatives(library) == ["a.zip"]
    await library.read_all()
    await library.look_at([folder / "old.txt"])
    assert relatives(library) == ["a.zip", "a.zip/lists/prices.csv", "a.zip/tea.md"]


@pytest.mark.anyio
async def test_archives_can_stay_closed(files: Path, tmp_path: Path) -> None:
    write_zip(files / "a.zip")
    library = Library(Folder(files), "lib", Store(None), Workers(1), archives=False)
    try:
        await library.look()
        (entry,) = (await library.catalogue())["documents"]
        assert entry["summary"] == "2 files, 43 bytes unpacked"
    finally:
        await library.close()


@pytest.mark.anyio
async def test_a_broken_archive_blocks_nothing(files: Path, make_library: MakeLibrary) -> None:
    good = write_zip(files / "good.zip", {"tea.txt": b"oolong " * 500, "bad.txt": b"words that are damaged " * 500})
    raw = bytearray(good.read_bytes())
    raw[raw.index(b"bad.txt") + 20] ^= 0xFF
    good.write_bytes(raw)
    (files / "cut.zip").write_bytes(raw[:-30])
    (files / "cut.tgz").write_bytes(write_tar(files / "cut.tgz", pack=gzip.compress).read_bytes()[:100])
    (files / "text.tar").write_text("no archive")
    write_gzip_bomb(files / "bomb.gz", 60_000_000)
    workers = CountingWorkers()
    library = make_library(workers=workers)
    await library.look()
    await library.read_all()
    problems = {document.relative: document.problem for document in library.documents.values()}
    assert problems.pop("good.zip/tea.txt") is None
    assert problems.pop("good.zip") is None
    assert all(problems.values())
    assert sorted(problems) == ["bomb.gz", "cut.tgz", "cut.zip", "good.zip/bad.txt", "text.tar"]
    assert len(await library.search("oolong", 5)) == 1
    asked = len(workers.asked)
    await library.catalogue()
    assert len(workers.asked) == asked, "and nothing is tried again"


# ------------------------------------------------------------------------------------------------------ temporary files


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() or path.name == "abandoned")


def kill_workers(folder: Path) -> None:
    """Kill the workers whose files are in a folder."""
    for child in psutil.Process().children():
        if any(str(folder) in part for part in child.cmdline()):
            child.kill()
            child.wait(10)


@pytest.mark.anyio
@linux_only
async def test_nothing_unpacked_is_left_behind(files: Path, temporary: Path) -> None:
    write_zip(files / "a.zip", {"tea.md": b"# Tea"})
    (temporary / "a2c-documents-1" / "abandoned").mkdir(parents=True)
    library = Library(Folder(files), "lib", Store(None), Workers(1))
    try:
        await library.look()
        await library.read_all()
        assert left_in(temporary) == ["tea.md"], "and nothing of a server that was killed"
        kill_workers(temporary)
        (files / "new.txt").write_text("words")
        await library.look()
        await library.read_all()
        assert left_in(temporary) == [], "the files of a killed worker are deleted"
        (temporary / "a2c-documents-2" / "abandoned").mkdir(parents=True)  # its server ended after this one began
    finally:
        await library.close()
    assert os.listdir(temporary) == []


@pytest.mark.anyio
@linux_only
async def test_a_server_that_needs_no_temporary_files_deletes_those_of_a_killed_one(
    files: Path, temporary: Path
) -> None:
    library = Library(Folder(files), "lib", Store(None), Workers(1))
    await library.look()
    (temporary / "a2c-documents-1" / "abandoned").mkdir(parents=True)
    await library.close()
    assert os.listdir(temporary) == []
