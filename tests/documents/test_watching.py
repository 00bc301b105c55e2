"""What happens to the folder while it is watched: to files in it, and to itself."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from a2c_documents.library.library import Library, News
from a2c_documents.server import watching
from tests.support.documents.archive_files import write_zip
from tests.support.documents.libraries import MakeLibrary
from tests.support.ordinary import without_privileges
from tests.support.systems import linux_only, posix_only
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class Watched:
    """A library whose folder is watched, and what was told of it."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.news: list[News] = []
        self._came = asyncio.Condition()

    async def announce(self, news: News) -> None:
        async with self._came:
            self.news.append(news)
            self._came.notify_all()

    async def until(self, *names: str) -> None:
        """Wait for the news by which the documents are these."""
        async with asyncio.timeout(PATIENCE), self._came:
            await self._came.wait_for(lambda: self._names() == set(names))

    async def hears_once(self, *names: str) -> None:
        """Wait for one piece of news, and no more, by which the documents are these."""
        await self.until(*names)
        (self.library.folder.root / "last.txt").write_text("what comes before this is told before it")
        await self.until(*names, "last.txt")
        assert [news.is_list_changed for news in self.news] == [True, True]
        (self.library.folder.root / "last.txt").unlink()
        await self.until(*names)
        self.news.clear()

    def _names(self) -> set[str]:
        return {document.relative for document in self.library.documents.values()}


@asynccontextmanager
async def watched(library: Library, **pauses: float) -> AsyncGenerator[Watched]:
    """Watch, from when changes are seen until the end."""
    found = Watched(library)
    await library.look()
    names = [document.relative for document in library.documents.values()]
    probe = library.folder.root / "probe.txt"
    task = asyncio.create_task(watching.watch(library, found.announce, **pauses))
    try:
        probe.write_text("is anybody there?")
        await found.until(*names, "probe.txt")
        probe.unlink()
        await found.until(*names)
        found.news.clear()
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"words of {name}")
    return folder


async def test_a_folder_that_is_swapped_for_another_is_told_of_once_and_watched_on(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    fill(files, "a.txt", "b.txt")
    other = fill(tmp_path / "other", "b.txt", "c.txt")
    async with watched(make_library()) as found:
        os.rename(files, tmp_path / "old")
        os.rename(other, files)
        await found.hears_once("b.txt", "c.txt")
        fill(files, "d.txt")
        await found.hears_once("b.txt", "c.txt", "d.txt")
        (tmp_path / "old" / "e.txt").write_text("not ours any more")
        fill(files, "f.txt")
        await found.hears_once("b.txt", "c.txt", "d.txt", "f.txt")


async def test_what_is_in_an_archive_is_announced(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    async with watched(make_library()) as found:
        os.rename(write_zip(tmp_path / "new"), files / "a.zip")
        await found.until("a.zip", "a.zip/tea.md", "a.zip/lists/prices.csv")
        os.rename(write_zip(tmp_path / "new", {"tea.md": b"# Other tea"}), files / "a.zip")
        await found.until("a.zip", "a.zip/tea.md")
        (tea,) = [ref for ref, document in found.library.documents.items() if document.inside is not None]
        assert any(tea in news.updated for news in found.news)


async def test_a_folder_that_goes_is_waited_for(
    files: Path, tmp_path: Path, make_library: MakeLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    fill(files, "a.txt")
    library = make_library()
    async with watched(library) as found:
        shutil.rmtree(files)
        await found.until()
        assert len(found.news) == 1
        os.rename(fill(tmp_path / "new", "b.txt"), files)
        await found.until("b.txt")
        assert len(found.news) == 2
        fill(files, "c.txt")
        await found.until("b.txt", "c.txt")
    assert len(caplog.records) == 1, "that it is not there is said once"


async def test_a_folder_that_comes_back_as_it_was_is_not_read_again(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    fill(files, "a.txt")
    library = make_library()
    async with watched(library) as found:
        await library.read_all()
        os.rename(files, tmp_path / "away")
        await found.until()
        await library.tidy()
        os.rename(tmp_path / "away", files)
        await found.until("a.txt")
        assert await library.read_all() == 0


async def test_an_empty_folder_may_be_a_disk_that_comes_back(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    fill(files, "a.txt")
    library = make_library()
    async with watched(library) as found:
        await library.read_all()
        os.rename(files, tmp_path / "away")
        os.mkdir(files)
        await found.until()
        await library.tidy()
        os.rmdir(files)
        os.rename(tmp_path / "away", files)
        await found.until("a.txt")
        assert await library.read_all() == 0


async def test_a_file_in_the_place_of_the_folder_is_no_folder(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    fill(files, "a.txt")
    async with watched(make_library()) as found:
        os.rename(files, tmp_path / "away")
        os.rename(fill(tmp_path / "plain", "file") / "file", files)
        await found.until()
        os.unlink(files)
        os.rename(tmp_path / "away", files)
        await found.until("a.txt")


@posix_only
async def test_what_is_closed_and_opened_again(
    files: Path, make_library: MakeLibrary, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if not without_privileges(request, tmp_path):
        return
    fill(files, "a.txt")
    fill(files / "sub", "b.txt")
    async with watched(make_library()) as found:
        os.chmod(files / "sub", 0)
        await found.until("a.txt")
        os.chmod(files / "sub", 0o700)
        await found.until("a.txt", "sub/b.txt")
        fill(files / "sub", "c.txt")
        await found.until("a.txt", "sub/b.txt", "sub/c.txt")
        os.chmod(files, 0)
        await found.until()
        os.chmod(files, 0o700)
        await found.until("a.txt", "sub/b.txt", "sub/c.txt")


@linux_only
async def test_a_name_that_is_not_utf_8_does_not_end_the_watching(
    files: Path, make_library: MakeLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    fill(files, "a.txt")
    async with watched(make_library()) as here:
        (files / os.fsdecode(b"bad\xff.bin")).write_bytes(b"?")
        fill(files, "b.txt")
        await here.until("a.txt", "b.txt", "bad\\xff.bin")
        fill(files, "c.txt")
        await here.until("a.txt", "b.txt", "c.txt", "bad\\xff.bin")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_folder_that_cannot_be_watched_is_looked_at(
    files: Path, make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def awatch(*_: Any, **__: Any) -> AsyncGenerator[set[Any]]:
        raise OSError(28, "there are too many watches on this machine")
        yield set()

    monkeypatch.setattr(watchfiles, "awatch", awatch)
    fill(files, "a.txt")
    async with watched(make_library(), look_seconds=0.01) as found:
        fill(files, "b.txt")
        await found.until("a.txt", "b.txt")
    assert len(caplog.records) == 1
