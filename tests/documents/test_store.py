"""What is kept on disk, and what becomes of it on a disk that is full, damaged, locked or gone."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from a2c_documents.folder.files import Stamp
from a2c_documents.store.store import Failure, Known, Store
from tests.support.documents.libraries import MakeLibrary
from tests.support.ordinary import without_privileges
from tests.support.systems import posix_only

STAMP = Stamp(1, 2, 3, 4)
PAGE = b'{"title": "", "elements": []}'


@pytest.fixture
def location(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "kept.db"


def opened(location: Path | None, max_bytes: int = 10_000_000) -> Store:
    return Store(location, max_bytes, patience=0.1)


def use(store: Store, digest: str = "digest") -> None:
    """Everything that is kept can be had again; nothing raises."""
    facts = {"title": "Ännchen"}
    failure = Failure("odd", True, 1.0)
    store.keep("a.txt", Known(STAMP, digest, facts))
    store.keep_page(digest, 3, PAGE)
    store.keep_failure(digest, "page 4", failure)
    store.words.keep(digest, [(0, "p0-text-1", "an elephant")])
    assert store.files() == {"a.txt": Known(STAMP, digest, facts)}
    assert store.facts(digest) == facts
    assert store.page(digest, 3) == PAGE
    assert store.failure(digest, "page 4") == failure
    assert digest in store.words.indexed()
    assert [found[:3] for found in store.words.search("elephant", 5, {digest})] == [(digest, 0, "p0-text-1")]
    store.tidy({digest})
    assert store.page(digest, 3) == PAGE


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_was_kept_is_there_after_a_restart(location: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(location)
    use(store)
    store.close()
    store = opened(location)
    assert store.facts("digest") == {"title": "Ännchen"}
    assert store.page("digest", 3) == PAGE
    assert set(store.words.indexed()) == {"digest"}
    store.close()
    assert warnings(caplog) == []


# --------------------------------------------------------------------------------------------------------------- bounds


def test_what_no_file_has_is_forgotten(location: Path) -> None:
    store = opened(location)
    use(store, "gone")
    use(store, "here")  # the same file, edited
    store.tidy({"here"})
    assert store.facts("gone") is None
    assert store.page("gone", 3) is None
    assert store.failure("gone", "page 4") is None
    assert set(store.words.indexed()) == {"here"}
    assert store.words.search("elephant", 5, {"gone"}) == []
    assert store.page("here", 3) == PAGE
    store.close()


def test_pages_that_were_not_used_for_long_go_first(location: Path) -> None:
    store = opened(location, max_bytes=50_000)
    for number in range(10):
        store.keep(f"{number}.txt", Known(STAMP, str(number), {}))
        store.keep_page(str(number), 0, os.urandom(10_000))
        store.tidy(set())
    assert not store.is_crowded
    assert store.page("5", 0) is None
    assert store.page("6", 0) is not None
    store.keep("new.txt", Known(STAMP, "new", {}))
    store.keep_page("new", 0, os.urandom(10_000))
    assert store.is_crowded
    store.tidy(set())
    assert not store.is_crowded
    assert store.page("6", 0) is not None, "it was used meanwhile"
    assert store.page("7", 0) is None
    store.close()


def test_edits_ask_for_tidying(location: Path) -> None:
    store = opened(location)
    for number in range(501):
        store.keep("a.txt", Known(STAMP, str(number), {}))
    assert store.is_crowded
    store.tidy({"500"})
    assert [store.facts(str(number)) for number in (0, 499, 500)] == [None, None, {}]
    store.close()


# --------------------------------------------------------------------------------------------------------------- faults


def test_a_damaged_database_is_made_anew(location: Path, caplog: pytest.LogCaptureFixture) -> None:
    location.parent.mkdir()
    location.write_bytes(b"this is no database, not at all" * 100)
    store = opened(location)
    use(store)
    store.close()
    assert len(warnings(caplog)) == 1
    store = opened(location)
    assert store.facts("digest") == {"title": "Ännchen"}
    store.close()
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("part", ["the beginning", "all", "the end"])
def test_a_database_that_is_damaged_while_it_is_used_is_made_anew(
    location: Path, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(location)
    bodies = [os.urandom(10_000) for _ in range(300)]  # more than is held in memory
    for number, body in enumerate(bodies):
        store.keep_page("digest", number, body)
    other = sqlite3.connect(location)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    size = location.stat().st_size
    with location.open("r+b") as file:
        file.seek(size // 2 if part == "the end" else 0)
        file.write(os.urandom(size // 2 if part != "all" else size))
    for number, body in enumerate(bodies):
        assert store.page("digest", number) in (body, None), "what was kept, or nothing"
    use(store)
    store.close()
    assert len(warnings(caplog)) == 1
    store = opened(location)
    assert store.page("digest", 3) == PAGE, "it is kept on disk again"
    store.close()


def test_a_bit_that_a_disk_has_turned_is_not_told(location: Path) -> None:
    store = opened(location)
    use(store)
    store.close()
    database = sqlite3.connect(location)
    for table, column in (("documents", "facts"), ("pages", "body")):
        (packed,) = database.execute(f"SELECT {column} FROM {table}").fetchone()
        turned = packed[:-6] + bytes((packed[-6] ^ 1,)) + packed[-5:]
        database.execute(f"UPDATE {table} SET {column} = ?", (turned,))
    database.commit()
    database.close()
    store = opened(location)
    assert store.files() == {}
    assert store.facts("digest") is None
    assert store.page("digest", 3) is None
    use(store)
    store.close()


def test_without_a_place_to_write_nothing_outlives_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    for location in (tmp_path / "file" / "kept.db", tmp_path):
        store = opened(location)
        use(store)
        store.close()
    assert len(warnings(caplog)) == 2


@posix_only
def test_a_place_where_nothing_may_be_written(
    location: Path, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if not without_privileges(request, tmp_path):
        return
    store = opened(location)
    use(store)
    store.close()
    os.chmod(location, 0o400)
    os.chmod(location.parent, 0o500)
    store = opened(location)
    use(store, "other")
    store.close()
    assert len(warnings(caplog)) == 1
    os.chmod(location.parent, 0o700)


def test_a_folder_that_is_deleted_while_it_is_used(location: Path) -> None:
    store = opened(location)
    use(store)
    shutil.rmtree(location.parent)
    use(store, "other")
    store.close()
    store = opened(location)
    assert store.facts("other") is None
    use(store)
    store.close()


@pytest.mark.parametrize("when", ["before", "while it is used"])
def test_a_database_that_another_process_locks(location: Path, when: str, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(location)
    use(store)
    if when == "before":
        store.close()
    other = sqlite3.connect(location, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    if when == "before":
        store = opened(location)
    use(store, "other")
    use(store, "third")
    store.close()
    other.execute("ROLLBACK")
    other.close()
    assert len(warnings(caplog)) == 1
    store = opened(location)
    assert store.facts("digest") == {"title": "Ännchen"}, "what was kept before is still there"
    store.close()


@contextmanager
def full_disk() -> Generator[None]:
    """No file may grow beyond some bytes, as on a disk that is full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@posix_only
def test_a_full_disk(location: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = opened(location)
    use(store)
    with full_disk():
        for number in range(200):
            store.keep_page("digest", number, os.urandom(10_000))
        assert store.page("digest", 199) is not None
        use(store, "other")
    store.close()
    assert len(warnings(caplog)) == 2, "temporary files have no place there either"
    store = opened(location)
    assert store.facts("digest") == {"title": "Ännchen"}, "what was kept before is still there"
    store.close()


def test_tables_of_another_version_are_replaced(location: Path) -> None:
    location.parent.mkdir()
    other = sqlite3.connect(location)
    other.executescript("CREATE TABLE files (odd); CREATE VIRTUAL TABLE words USING fts5 (x); PRAGMA user_version = 1;")
    other.close()
    store = opened(location)
    use(store)
    store.close()


def test_many_may_begin_at_the_same_moment(location: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(Store, [location] * 8))
    for number, store in enumerate(stores):
        store.keep_facts(str(number), {"number": number})
    assert all(stores[0].facts(str(number)) == {"number": number} for number in range(8))
    for store in stores:
        store.close()
    assert warnings(caplog) == []


# ---------------------------------------------------------------------------------------------------------- the library


@pytest.mark.anyio
async def test_nothing_is_missed_when_the_database_is_lost_between_two_searches(
    files: Path, location: Path, make_library: MakeLibrary
) -> None:
    for number in range(20):
        (files / f"{number}.txt").write_text(f"word{number}x " + "more " * 2_000)
    library = make_library(store=opened(location))
    await library.look()
    assert len(await library.search("word7x", 5)) == 1
    other = sqlite3.connect(location, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    (files / "new.txt").write_text("word20x")
    await library.look()
    for number in range(21):
        assert len(await library.search(f"word{number}x", 5)) == 1
    assert (await library.catalogue())["total_count"] == 21
    other.close()
