"""Files that harm their readers: remembered by content, so that nobody falls into the same pit twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from a2c_documents import registry
from a2c_documents.folder.files import Folder
from a2c_documents.library.library import Library
from a2c_documents.store.store import Failure, Store
from a2c_documents.workers import process
from a2c_documents.workers.pool import Cause, ReadingFailed, Workers
from tests.support.documents.libraries import CountingWorkers, MakeLibrary
from tests.support.systems import linux_only

pytestmark = [
    pytest.mark.anyio,
    linux_only,
]

LITTLE = 200_000_000
"""Bytes of memory in which a reader can start, but not read `GREEDY`."""
GREEDY = "[" + ",".join(['{"a": [1, 2, 3, "x"]}'] * 200_000) + "]"


Start = Callable[..., tuple[Library, CountingWorkers]]


@pytest.fixture
def start(files: Path, tmp_path: Path) -> Start:
    def start(memory_bytes: int = LITTLE, retry_seconds: float = 0) -> tuple[Library, CountingWorkers]:
        workers = CountingWorkers(memory_bytes=memory_bytes)
        return Library(Folder(files), "lib", Store(tmp_path / "kept.db"), workers, retry_seconds), workers

    return start


def problems(library: Library) -> list[str | None]:
    return [document.problem for document in library.documents.values()]


async def run(library: Library) -> None:
    await library.look()
    await library.catalogue()


async def test_what_takes_too_much_is_tried_twice_and_then_never_again(files: Path, start: Start) -> None:
    (files / "greedy.json").write_text(GREEDY)
    first, workers = start()
    await run(first)
    assert workers.asked == ["digest", "facts"]
    assert "memory" in str(problems(first))
    await first.close()
    second, workers = start()
    await run(second)
    assert workers.asked == ["digest", "facts"], "a machine under stress is no verdict"
    await run(second)
    await second.search("words", 5)
    assert workers.asked == ["digest", "facts"]
    await second.close()
    third, workers = start(memory_bytes=0)
    await run(third)
    assert workers.asked == []
    assert "memory" in str(problems(third))
    await third.close()


async def test_it_is_not_tried_again_at_once(files: Path, start: Start) -> None:
    (files / "greedy.json").write_text(GREEDY)
    library, workers = start(retry_seconds=3_600)
    for _ in range(3):
        await run(library)
    assert workers.asked == ["digest", "facts"]
    await library.close()
    again, workers = start(memory_bytes=0, retry_seconds=3_600)
    await run(again)
    assert workers.asked == ["digest"], "nor after a restart"
    assert "memory" in str(problems(again))
    await again.close()


async def test_a_good_file_that_failed_once_is_good_when_it_is_tried_again(files: Path, start: Start) -> None:
    (files / "greedy.json").write_text(GREEDY)
    library, _ = start()
    await run(library)
    await library.close()
    again, _ = start(memory_bytes=0)
    await run(again)
    assert problems(again) == [None]
    await again.close()


async def test_an_edit_is_a_new_chance(files: Path, start: Start) -> None:
    (files / "greedy.json").write_text(GREEDY)
    library, _ = start()
    await run(library)
    await run(library)
    assert "memory" in str(problems(library))
    (files / "greedy.json").write_text('{"a": 1}')
    await run(library)
    assert problems(library) == [None]
    await library.close()


async def test_a_new_version_of_a_parser_is_a_new_chance(files: Path, tmp_path: Path, start: Start) -> None:
    """The content is known by what reads it, too: another version gives another digest."""
    (files / "greedy.json").write_text(GREEDY)
    library, _ = start()
    await run(library)
    await run(library)
    (document,) = library.documents.values()
    before = document.digest
    await library.close()
    store = Store(tmp_path / "kept.db")
    assert store.failure(str(before), "facts") is not None
    store.close()
    assert process.Reader().digest(files / "greedy.json")["digest"] == before
    assert process.Reader(registry.VERSION + 1).digest(files / "greedy.json")["digest"] != before


async def test_a_page_that_cannot_be_read_does_not_keep_the_others_from_being_found(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    (files / "a.md").write_text("".join(f"# Section {number}\n\nword{number}\n\n" for number in range(5)))
    library = make_library(store=(store := Store(tmp_path / "own.db")))
    await library.look()
    await library.read_all()
    (document,) = library.documents.values()
    for act in ("words 0 5", "words 3 4"):
        store.keep_failure(str(document.digest), act, Failure("the reader crashed at it", True, 0))
    for number in range(5):
        assert bool(await library.search(f"word{number}", 5)) == (number != 3)
    assert store.words.indexed()[str(document.digest)].is_complete, "and it is not read for that again"


async def test_a_reader_that_died_of_something_else_is_replaced_and_nobody_blamed(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.txt").write_text("words")
    library = make_library()
    before = own_children()
    await library.look()
    await library.read_all()
    for pid in own_children() - before:
        psutil.Process(pid).kill()
    (files / "b.txt").write_text("more words")
    await library.look()
    await asyncio.gather(library.read_all(), library.catalogue())
    assert problems(library) == [None, None]


async def test_who_closes_blames_nobody(files: Path, start: Start) -> None:
    (files / "greedy.json").write_text(GREEDY)
    library, workers = start(memory_bytes=0)
    await library.look()
    reading = asyncio.ensure_future(library.read_all())
    async with asyncio.timeout(30):
        while workers.asked != ["digest", "facts"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    (document,) = library.documents.values()
    await workers.close()
    await reading
    assert document.problem
    await library.read_all()
    assert workers.asked == ["digest", "facts", "digest"]
    await library.close()
    again, workers = start(memory_bytes=0, retry_seconds=3_600)
    await run(again)
    assert problems(again) == [None]
    await again.close()


def own_children() -> set[int]:
    return {child.pid for child in cast("Any", psutil.Process()).children()}


async def test_a_file_that_takes_the_memory_of_all_is_stopped_and_the_others_are_read(files: Path) -> None:
    (files / "greedy.json").write_text(GREEDY)
    (files / "good.txt").write_text("A good file.")
    workers = Workers(2, total_bytes=LITTLE // 2)
    try:
        with pytest.raises(ReadingFailed, match="memory") as failure:
            await workers.do("facts", files / "greedy.json")
        assert failure.value.cause is Cause.UNCLEAR
        reply = await workers.do("facts", files / "good.txt")
        assert reply.value["page_titles"]
    finally:
        await workers.close()
