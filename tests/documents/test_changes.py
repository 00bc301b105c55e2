"""Files that are replaced, edited, touched and given other rights: what is news, and what is read again."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from pathlib import Path

import pytest

from a2c_documents.folder.files import Folder
from a2c_documents.library.library import Library
from a2c_documents.server.addresses import read
from a2c_documents.store.store import Memory, Store
from a2c_documents.workers.pool import Workers
from a2c_smcp.errors import DocumentNotFoundError
from tests.support.documents.libraries import CountingWorkers, MakeLibrary
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio


async def words_of(library: Library) -> str:
    """What is written on the first page of the only document."""
    (document,) = library.documents.values()
    page = (await read(library, library.address(document.ref, "pages/0"))).body
    return page["elements"][0]["content"]["text"]


def replace(path: Path, words: str) -> None:
    """Put another file of the same length and the same time in the place of one."""
    before = path.stat()
    other = path.with_name(".other")
    other.write_text(words)
    assert other.stat().st_size == before.st_size
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)


async def test_a_file_replaced_by_one_of_the_same_length_and_time_is_seen(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.txt").write_text("the first")
    library = make_library()
    await library.look()
    assert await words_of(library) == "the first"
    replace(files / "a.txt", "the other")
    assert (await library.look()).updated == set(library.documents)
    assert await words_of(library) == "the other"
    assert not (await library.look()).updated
    replace(files / "a.txt", "the third")
    assert (await library.look_at([files / "a.txt"])).updated
    assert await words_of(library) == "the third"


async def test_a_file_replaced_while_nobody_looked_is_read_again_after_a_restart(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.txt").write_text("the first")
    library = make_library()
    await library.look()
    assert await words_of(library) == "the first"
    await library.close()
    replace(files / "a.txt", "the other")
    again = make_library()
    await again.look()
    assert await words_of(again) == "the other"


async def test_a_replacement_that_somebody_read_before_we_looked_is_news_all_the_same(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.md").write_text("# One\n\nfirst\n\n# Two\n\nfirst\n")
    library = make_library()
    await library.look()
    (document,) = library.documents.values()
    uri = library.address(document.ref)
    assert "first" in str((await read(library, f"{uri}/pages/0")).body)
    replace(files / "a.md", "# One\n\nother\n\n# Two\n\nother\n")
    assert "other" in str((await read(library, f"{uri}/pages/1")).body), (
        "a page that nobody had read is of the new file"
    )
    assert "other" in str((await read(library, f"{uri}/pages/0")).body)
    assert (await library.look()).updated == {document.ref}
    assert not (await library.look()).updated


@posix_only
async def test_another_mode_or_name_is_no_news_and_nothing_is_parsed_again(files: Path, tmp_path: Path) -> None:
    (files / "a.txt").write_text("words")
    workers = CountingWorkers()
    library = Library(Folder(files), "lib", Store(tmp_path / "kept.db"), workers)
    await library.look()
    assert await words_of(library) == "words"
    workers.asked.clear()
    os.chmod(files / "a.txt", 0o600)
    assert not (await library.look()).updated
    os.rename(files / "a.txt", files / "b.txt")
    os.rename(files / "b.txt", files / "a.txt")
    assert not (await library.look()).updated
    assert await library.read_all() == 0
    assert await words_of(library) == "words"
    assert set(workers.asked) == {"digest"}
    workers.asked.clear()
    await library.look()
    assert workers.asked == [], "and that was remembered"
    await library.close()
    again = Library(Folder(files), "lib", Store(tmp_path / "kept.db"), workers)
    await again.look()
    assert await words_of(again) == "words"
    assert workers.asked == []
    await again.close()


async def test_a_new_time_is_news_since_that_is_told_but_nothing_is_parsed_again(files: Path) -> None:
    (files / "a.txt").write_text("words")
    workers = CountingWorkers()
    library = Library(Folder(files), "lib", Store(None), workers)
    await library.look()
    assert await words_of(library) == "words"
    workers.asked.clear()
    os.utime(files / "a.txt", (1_000_000_000, 1_000_000_000))
    assert (await library.look()).updated
    body = (await read(library, library.address(*library.documents))).body
    assert body["last_modified"] == "2001-09-09T01:46:40Z"
    assert workers.asked == ["digest"]
    await library.close()


@posix_only
async def test_an_edit_is_told_once_whatever_happens_to_the_file_after(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.txt").write_text("words")
    library = make_library()
    await library.look()
    assert await words_of(library) == "words"
    (files / "a.txt").write_text("other words")
    assert (await library.look()).updated
    assert await words_of(library) == "other words"
    os.chmod(files / "a.txt", 0o644)
    assert not (await library.look()).updated


async def test_who_reads_gets_what_is_there_though_nobody_looked(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.txt").write_text("words")
    library = make_library()
    await library.look()
    (document,) = library.documents.values()
    for words in ("other words", "the third"):
        (files / "a.txt").write_text(words)
        assert (await library.document(document.ref))["summary"] == words
        assert await words_of(library) == words
    (files / "a.txt").unlink()
    with pytest.raises(DocumentNotFoundError):
        await words_of(library)


async def test_what_was_before_comes_back_without_being_parsed(files: Path) -> None:
    workers = CountingWorkers()
    library = Library(Folder(files), "lib", Store(None), workers)
    for words in ("one", "three", "one", "three"):
        (files / "a.txt").write_text(words)
        await library.look()
        assert await words_of(library) == words
    assert workers.asked.count("facts") == workers.asked.count("page") == 2
    await library.close()


async def test_two_edits_in_the_same_moment_are_both_seen(files: Path, make_library: MakeLibrary) -> None:
    library = make_library()
    (files / "a.txt").write_text("0000")
    await library.look()
    await library.read_all()
    for number in range(1, 40):
        (files / "a.txt").write_text(f"{number:04}")
        reading = asyncio.ensure_future(words_of(library))
        await library.look()
        (files / "a.txt").write_text(f"{number + 5_000:04}")
        await reading
        await library.look()
        assert await words_of(library) == f"{number + 5_000:04}"


async def test_many_who_ask_at_once_have_a_page_read_once(files: Path) -> None:
    (files / "a.txt").write_text("words")
    workers = CountingWorkers()
    library = Library(Folder(files), "lib", Store(None), workers)
    await library.look()
    assert set(await asyncio.gather(*(words_of(library) for _ in range(20)))) == {"words"}
    assert workers.asked == ["digest", "facts", "page"]
    await library.close()


async def test_memory_does_not_grow_with_edits(files: Path) -> None:
    library = Library(Folder(files), "lib", Store(None), Workers(1))
    sections = "".join(f"# Section {number} {'x' * 80}\n\nwords\n\n" for number in range(2_000))

    async def edit(count: int) -> int:
        for number in range(count):
            (files / "a.md").write_text(f"# Edit {number} of {count}\n\n{sections}")
            await library.look()
            await library.read_all()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = await edit(3)
        after = await edit(12)
    finally:
        tracemalloc.stop()
    await library.close()
    assert after - before < 2_000_000, "the titles of one edit alone take 300,000 bytes"


async def test_a_film_of_gigabytes_is_known_without_being_read_to_its_end(
    files: Path, make_library: MakeLibrary
) -> None:
    with (files / "a.mp4").open("wb") as film:
        film.truncate(3 * 2**30)
    library = make_library(seconds=5)
    await library.look()
    await library.read_all()
    (document,) = library.documents.values()
    before = document.digest
    assert before is not None
    with (files / "a.mp4").open("r+b") as film:
        film.seek(2**30)
        film.write(b"another scene")
    assert (await library.look()).updated
    await library.read_all()
    assert document.digest not in (None, before)


def test_pages_at_hand_take_no_more_bytes_than_they_may() -> None:
    memory = Memory(max_bytes=100_000)
    for number in range(1_000):
        memory.put(("digest", number), "日本語".encode() * 500)
    kept = [body for number in range(1_000) if (body := memory.get(("digest", number))) is not None]
    assert len(kept) > 10
    assert sum(map(len, kept)) <= 100_000
    assert memory.get(("digest", 999)) is not None, "those used last stay"
    memory.put(("digest", 1_000), b"x" * 200_000)
    assert memory.get(("digest", 1_000)) is None, "what is larger than all is not kept"
