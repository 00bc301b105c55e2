"""Full-text search: what is found, how fresh it is, and how much of the folder was searched."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from a2c_documents.library.library import Library
from a2c_documents.server.addresses import read
from a2c_documents.server.tools import call
from a2c_documents.workers.pool import Workers
from a2c_smcp.errors import InvalidDPEUriError
from tests.support.documents.libraries import MakeLibrary
from tests.support.systems import linux_only

pytestmark = pytest.mark.anyio

NO_SCANS = {"unrecognized_pages": 0}


async def survey(library: Library, query: str, **params: str) -> dict[str, Any]:
    words = "&".join(f"{key}={value}" for key, value in {"search": query, "wait": "30", **params}.items())
    return (await read(library, f"dpe://lib?{words}")).body


@contextmanager
def stopped(processes: set[int]) -> Generator[None]:
    """Processes that do nothing while the block runs."""
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


def own_children() -> set[int]:
    return {child.pid for child in cast("Any", psutil.Process()).children()}


@asynccontextmanager
async def held(workers: Workers, file: Path) -> AsyncGenerator[None]:
    """Workers whose process hangs at a file while the block runs."""
    before = own_children()
    await workers.do("digest", file)
    with stopped(own_children() - before):
        reading = asyncio.create_task(workers.do("digest", file))
        await asyncio.sleep(0)
        yield
    await reading


async def test_a_search_finds_places_with_all_that_ranks_them(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.md").write_text("# Plans\n\nThe Café budget, and a budget again.\n\nNo more of it.\n")
    (files / "b.md").write_text("# Other\n\n東京大学の予算です。\n")
    (files / "copy.md").write_text((files / "a.md").read_text())
    library = make_library()
    await library.look()
    body = await survey(library, "cafe budget", limit="5")
    (document,), (hit,) = body["documents"], body["hits"]
    assert body["total_count"] == 1
    assert document["state"] == "current"
    assert [uri.startswith("dpe://lib/") for uri in document["copies"]] == [True]
    assert hit["counts"] == {"cafe": 1, "budget": 2}
    assert "[budget]" in hit["snippet"]
    assert (await read(library, hit["element_uri"])).body["category"] == "text"
    assert body["statistics"]["terms"] == {"cafe": 1, "budget": 1}
    assert body["statistics"]["passages"] == 5, "copies count once"
    assert body["coverage"] == {"documents": 3, "indexed": 3, "changed": 0, "pending": 0, "unreadable": 0} | NO_SCANS
    chinese = await survey(library, "予算")
    assert [hit["counts"] for hit in chinese["hits"]] == [{"予 算": 1}]
    assert "[予算]" in chinese["hits"][0]["snippet"]


async def test_a_search_as_text_and_its_parameters(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.md").write_text("# Plans\n\nA budget.\n")
    library = make_library()
    await library.look()
    found = (await read(library, "dpe://lib?search=budget&wait=30&format=markdown")).body
    assert found["content_markdown"].startswith("- [Plans](dpe://lib/a-")
    for wrong in ("search=", "search=x&wait=-1", "search=x&wait=soon", "search=x&wait=61", "search=x&limit=0"):
        with pytest.raises(InvalidDPEUriError):
            await read(library, f"dpe://lib?{wrong}")


@linux_only
async def test_a_search_does_not_wait_for_files_that_are_not_indexed(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    (files / "a.txt").write_text("An elephant.")
    (tmp_path / "slow").write_text("slow")
    workers = Workers(1, 60, long_seconds=60)
    library = make_library(workers=workers)
    await library.look()
    await library.make_searchable()
    for number in range(20):
        (files / f"{number}.txt").write_text(f"Elephant number {number}.")
    await library.look()
    async with held(workers, tmp_path / "slow"):
        body = await survey(library, "elephant", wait="0")
        assert len(body["hits"]) == 1
        assert (
            body["coverage"] == {"documents": 21, "indexed": 1, "changed": 0, "pending": 20, "unreadable": 0} | NO_SCANS
        )
        words = (await call(library, "search_documents", {"query": "elephant", "wait": 0}))[0].body
        assert (len(words["hits"]), "1 of 21" in words["incomplete"]) == (1, True)
        assert "1 of 21" in (await call(library, "search_documents", {"query": "tiger", "wait": 0}))[0].body
    body = await survey(library, "elephant", limit="50")
    assert (len(body["hits"]), body["coverage"]["pending"]) == (21, 0)


@linux_only
async def test_a_found_document_says_how_fresh_it_is(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    (files / "a.txt").write_text("An elephant.")
    (files / "b.txt").write_text("Another elephant.")
    (tmp_path / "slow").write_text("slow")
    workers = Workers(1, 60, long_seconds=60)
    library = make_library(workers=workers)
    await library.look()
    first = (await survey(library, "elephant"))["documents"]
    assert [document["state"] for document in first] == ["current", "current"]
    assert all(document["indexed_at"].endswith("Z") for document in first)
    # Nothing has looked at the folder since: the search itself finds out.
    (files / "a.txt").write_text("A tiger.")
    (files / "b.txt").unlink()
    (found,) = (await survey(library, "elephant", wait="0"))["documents"]
    assert (found["title"], found["state"]) == ("a.txt", "changed")
    assert found["changed_at"] >= found["indexed_at"]
    await library.look()
    async with held(workers, tmp_path / "slow"):
        body = await survey(library, "elephant", wait="0")
        assert [document["state"] for document in body["documents"]] == ["changed"]
        assert body["coverage"]["changed"] == 1
    assert (await survey(library, "elephant"))["documents"] == []
    assert (await survey(library, "tiger"))["documents"][0]["state"] == "current"


@linux_only
async def test_files_that_take_long_do_not_keep_others_from_being_read(files: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (files / name).write_text(name)
    workers = Workers(1, 60, long_seconds=0.1)
    try:
        async with held(workers, files / "a.txt"), asyncio.timeout(30):
            assert (await workers.do("digest", files / "b.txt")).value["digest"]
    finally:
        await workers.close()


async def test_the_same_content_has_the_same_digest_whatever_reads_it(files: Path, make_library: MakeLibrary) -> None:
    for name in ("a.md", "b.txt"):
        (files / name).write_text("elephant")
    library = make_library()
    await library.look()
    body = await survey(library, "elephant")
    digests = {document["digest"] for document in body["documents"]}
    assert (len(body["documents"]), len(digests)) == (2, 1)
    assert json.dumps(body)
