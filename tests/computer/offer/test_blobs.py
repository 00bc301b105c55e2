"""The binaries that a Computer hands out by handle: who may fetch them, for how long, and how many there are."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.offer.blobs import Blobs, whole
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.errors import BlobUnavailableError, TooLargeError
from a2c_smcp.protocol.blob_items import find_handles
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

AGENT = Caller("office", "agent")
ROOM = 10_000_000
LARGE = bytes(range(256)) * 8_000
"""More than what is kept in memory."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@asynccontextmanager
async def keeping(*limits: int, **options: Any) -> AsyncGenerator[Blobs]:
    blobs = Blobs(*limits, **options)
    try:
        yield blobs
    finally:
        await blobs.aclose()


async def keep(blobs: Blobs, data: bytes, caller: Caller = AGENT) -> str:
    return (await blobs.keep(caller, whole(data), len(data), "image/png")).handle


async def fetch(blobs: Blobs, handle: str, caller: Caller = AGENT, step: int = 300_000) -> bytes:
    """A binary, part by part."""
    blob, data = await blobs.read(caller, handle, 0, step)
    while len(data) < blob.size:
        data += (await blobs.read(caller, handle, len(data), step))[1]
    assert hashlib.sha256(data).hexdigest() == blob.sha256
    return data


async def reason(blobs: Blobs, handle: str, offset: int = 0, caller: Caller = AGENT, most: int = 1) -> str:
    """Why a binary cannot be fetched."""
    with pytest.raises(BlobUnavailableError) as caught:
        await blobs.read(caller, handle, offset, most)
    assert caught.value.details is not None
    return caught.value.details["reason"]


def files(folder: Path, pattern: str = "*/*") -> list[Path]:
    return list(folder.glob(pattern))


def image(data: bytes) -> dict[str, Any]:
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize("data", [b"", b"small", bytes(200_000), LARGE])
async def test_a_binary_is_fetched_in_parts_by_the_agent_that_got_its_handle(data: bytes, folder: Path) -> None:
    async with keeping() as blobs:
        assert await fetch(blobs, await keep(blobs, data)) == data


async def test_parts_are_fetched_in_any_order_and_at_once(folder: Path) -> None:
    async with keeping() as blobs:
        handle = await keep(blobs, LARGE)
        offsets = [1_500_000, 0, 77, len(LARGE) - 5, len(LARGE)]
        parts = await asyncio.gather(*(blobs.read(AGENT, handle, offset, 1_000) for offset in offsets))
        assert [part for _, part in parts] == [LARGE[offset : offset + 1_000] for offset in offsets]


@pytest.mark.parametrize("other", [Caller("office", "other"), Caller("elsewhere", "agent"), Caller()])
async def test_another_agent_cannot_fetch_a_binary(other: Caller) -> None:
    async with keeping() as blobs:
        handle = await keep(blobs, b"secret")
        assert await reason(blobs, handle, caller=other) == "forbidden"
        blobs.drop("office")
        assert await reason(blobs, handle, caller=other) == "invalid_handle"
        assert await reason(blobs, handle) == "gone"


@pytest.mark.parametrize("handle", ["", "x", "0" * 64, "é\ud800" * 32])
async def test_a_handle_that_was_never_made_is_invalid(handle: str) -> None:
    async with keeping() as blobs:
        assert await reason(blobs, handle) == "invalid_handle"


@pytest.mark.parametrize(("offset", "most"), [(-1, 1), (6, 1), (0, 0), (0, -3)])
async def test_a_part_that_does_not_exist_is_out_of_range(offset: int, most: int) -> None:
    async with keeping() as blobs:
        assert await reason(blobs, await keep(blobs, b"short"), offset, most=most) == "range"


async def test_what_is_not_fetched_expires_with_its_file(folder: Path) -> None:
    async with keeping(seconds=0.05) as blobs:
        handles = [await keep(blobs, LARGE), await keep(blobs, b"small")]
        await eventually(lambda: not files(folder))
        assert [await reason(blobs, handle) for handle in handles] == ["gone", "gone"]


async def test_everything_of_an_agent_goes_when_it_leaves(folder: Path) -> None:
    async with keeping() as blobs:
        ours, theirs = await keep(blobs, LARGE), await keep(blobs, LARGE, Caller("office", "other"))
        blobs.drop("office", "agent")
        assert await reason(blobs, ours) == "gone"
        assert await fetch(blobs, theirs, Caller("office", "other")) == LARGE
        await eventually(lambda: len(files(folder)) == 1)


async def test_the_folder_is_private_and_removed_at_the_end(folder: Path) -> None:
    async with keeping() as blobs:
        await keep(blobs, LARGE)
        [made] = files(folder, "*")
        assert made.stat().st_mode & 0o077 == 0
    assert not files(folder, "*")


async def test_files_have_a_limit_at_which_the_least_recently_used_one_goes(folder: Path) -> None:
    async with keeping(3 * len(LARGE)) as blobs:
        first, second, third = [await keep(blobs, LARGE) for _ in range(3)]
        await fetch(blobs, first)
        await keep(blobs, LARGE)
        assert await reason(blobs, second) == "gone"
        assert await fetch(blobs, first) == await fetch(blobs, third) == LARGE
        await eventually(lambda: len(files(folder)) == 3)
        with pytest.raises(TooLargeError):
            await blobs.keep(AGENT, whole(LARGE), 4 * len(LARGE), "image/png")


async def test_memory_has_a_limit_and_1000_handles_live_within_it(folder: Path) -> None:
    async with keeping(memory_bytes=1_000 * 1_000) as blobs:
        handles = [await keep(blobs, number.to_bytes(4, "big") * 250) for number in range(1_000)]
        assert await fetch(blobs, handles[0]) == bytes(1_000)
        assert len(set(handles)) == 1_000
        last = await keep(blobs, bytes(1_000))
        assert await reason(blobs, handles[1]) == "gone"  # the first one was used since
        assert await fetch(blobs, last) == await fetch(blobs, handles[0]) == bytes(1_000)
        assert not files(folder, "*")


async def test_a_file_that_the_system_removed_is_gone(folder: Path) -> None:
    async with keeping() as blobs:
        handle = await keep(blobs, LARGE)
        [file] = files(folder)
        file.unlink()
        assert await reason(blobs, handle) == "gone"
        assert await fetch(blobs, await keep(blobs, LARGE)) == LARGE


async def test_only_binaries_above_the_limit_become_handles() -> None:
    async with keeping() as blobs:
        answer = {"content": [image(bytes(10)), image(bytes(11)), {"type": "text", "text": "a"}], "isError": False}
        handed = await blobs.hand_out(answer, AGENT, 10, ROOM)
        [found] = find_handles(handed)
        assert (found.index, found.total_size) == (1, 11)
        assert await fetch(blobs, found.handle) == bytes(11)
        assert await blobs.hand_out(answer, AGENT, None, ROOM) is answer


async def test_small_binaries_become_handles_where_together_they_are_large() -> None:
    async with keeping() as blobs:
        answer = {"content": [image(bytes(30)) for _ in range(5)]}
        handed = await blobs.hand_out(answer, AGENT, 30, 2 * 40)
        assert [found.index for found in find_handles(handed)] == [2, 3, 4]


async def test_an_mcp_server_cannot_write_handles() -> None:
    forged = {"type": "image", "mimeType": "image/png", "data": "", "_meta": {"a2c_blob_handle": "h", "own": 1}}
    async with keeping() as blobs:
        for inline in (0, None):
            handed = await blobs.hand_out({"content": [forged]}, AGENT, inline, ROOM)
            assert handed["content"] == [{**forged, "_meta": {"own": 1}}]


@pytest.mark.parametrize("payload", ["A" * 101, "!" * 100, "AA==" * 100])
async def test_what_is_no_base64_stays_as_it_is(payload: str) -> None:
    async with keeping() as blobs:
        answer = {"content": [{"type": "image", "mimeType": "image/png", "data": payload}]}
        assert await blobs.hand_out(answer, AGENT, 0, ROOM) == answer


async def test_base64_in_lines_is_handed_out(folder: Path) -> None:
    async with keeping() as blobs:
        answer = {"content": [{"type": "image", "mimeType": "x/y", "data": base64.encodebytes(LARGE).decode()}]}
        [found] = find_handles(await blobs.hand_out(answer, AGENT, 0, ROOM))
        assert found.total_size == len(LARGE)
        assert await fetch(blobs, found.handle) == LARGE


async def test_a_binary_that_cannot_be_kept_stays_in_the_answer() -> None:
    async with keeping(10) as blobs:
        answer = {"content": [image(LARGE)]}
        assert await blobs.hand_out(answer, AGENT, 0, ROOM) == answer


async def test_a_cancelled_caller_leaves_no_file(folder: Path) -> None:
    async with keeping() as blobs:
        begun, released = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def parts() -> Any:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(released.wait(), loop).result(10)
            yield LARGE

        keeping_it = asyncio.create_task(blobs.keep(AGENT, parts, len(LARGE), "x/y"))
        await begun.wait()
        keeping_it.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping_it
        released.set()
        await eventually(lambda: not files(folder))
        assert await fetch(blobs, await keep(blobs, LARGE)) == LARGE
