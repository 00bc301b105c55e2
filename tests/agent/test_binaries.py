"""Large pictures, recordings and files reach both Agents, although a message is limited to 10 MB."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp import errors
from tests.servers.large import payload
from tests.support.agents import Stage, stage
from tests.support.hosting import large

pytestmark = pytest.mark.anyio

HUGE = 60_000_000
SOME = 700_001


def sha_of(file: Path) -> str:
    return sha(file.read_bytes())


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_picture_and_a_file_of_60_mb_reach_the_agent(scene: Stage, tmp_path: Path) -> None:
    await scene.computer(large())
    downloads: list[Any] = []
    agent = await scene.agent(on_download=downloads.append)
    result = await agent.call_tool("pc", "make", {"kind": "image", "size": HUGE})
    wanted = sha(payload(HUGE))
    assert (result.text, [sha(each) for each in result.images]) == ("made", [wanted])
    assert "a2c_blob" not in str(result.content[1].meta)
    assert (downloads[-1].done, downloads[-1].total, downloads[-1].computer) == (HUGE, HUGE, "pc")
    answer = await agent.read_contents("pc", f"large://{HUGE}", save_to=tmp_path)
    [part] = answer["contents"]
    saved = Path(part["_meta"]["a2c_saved_to"])
    assert (part["blob"], saved.parent, sha_of(saved)) == ("", tmp_path, wanted)


async def test_every_kind_of_binary_is_as_it_would_be_without_handles(scene: Stage) -> None:
    computer = await scene.computer(large())
    agent = await scene.agent()
    for kind in ("image", "audio", "file"):
        parameters: dict[str, Any] = {"kind": kind, "size": SOME, "count": 3, "meta": {"own": 1}}
        result = await agent.call_tool("pc", "make", parameters)
        direct = await computer.call("make", **parameters)
        assert result.to_json() == direct.to_json()
        assert [file.data for file in result.files] == [payload(SOME, number) for number in range(3)]
    answer = await agent.read_resource("pc", f"large://{SOME}")
    assert answer["contents"] == await computer.read_resource(f"large://{SOME}")


async def test_many_small_binaries_arrive_in_order(scene: Stage) -> None:
    await scene.computer(large())
    agent = await scene.agent()
    for size, count in ((40_000, 300), (30_000, 400)):
        result = await agent.call_tool("pc", "make", {"kind": "image", "size": size, "count": count})
        assert result.images == [payload(size, number) for number in range(count)]


async def test_an_agent_that_reads_no_handles_gets_none(scene: Stage) -> None:
    await scene.computer(large())
    agent = await scene.people.member("agent", "agent", "office")
    call = {"tool_name": "make", "params": {"kind": "image", "size": SOME}, "timeout": 30}
    answer = await agent.ask("client:tool_call", {"agent": "agent", "computer": "pc", "req_id": "r", **call})
    assert answer["content"][1]["data"] == base64.b64encode(payload(SOME)).decode()


async def test_any_part_is_fetched_by_the_protocol(scene: Stage) -> None:
    await scene.computer(large())
    agent = await scene.people.member("agent", "agent", "office")
    common = {"agent": "agent", "computer": "pc", "req_id": "r"}
    call = {"tool_name": "make", "params": {"kind": "image", "size": SOME}, "timeout": 30, "max_inline_bytes": 0}
    answer = await agent.ask("client:tool_call", {**common, **call})
    meta = answer["content"][1]["_meta"]
    assert (meta["a2c_total_size"], meta["a2c_sha256"]) == (SOME, sha(payload(SOME)))
    wanted = {**common, "blob_handle": meta["a2c_blob_handle"]}
    first = await agent.ask("client:get_blob", wanted)
    assert base64.b64decode(first.pop("blob")) == payload(SOME)[: 256 * 1024]
    facts = {"blob_handle": meta["a2c_blob_handle"], "mime_type": "image/png", "total_size": SOME}
    assert first == {**facts, "sha256": sha(payload(SOME)), "chunk_offset": 0, "eof": False, "req_id": "r"}
    last = await agent.ask("client:get_blob", {**wanted, "chunk_offset": SOME - 2, "max_chunk_bytes": 10**9})
    assert (base64.b64decode(last["blob"]), last["eof"]) == (payload(SOME)[-2:], True)
    for fields, reason in (({"chunk_offset": SOME + 1}, "range"), ({"blob_handle": "x"}, "invalid_handle")):
        problem = (await agent.ask("client:get_blob", {**wanted, **fields}))["error"]
        assert (problem["code"], problem["details"]) == (4018, {"reason": reason})
    # The next Agent in the seat cannot fetch what was handed to the one before.
    await agent.ask("server:leave_office", {"office_id": "office"})
    other = await scene.people.member("agent", "other", "office")
    problem = (await other.ask("client:get_blob", {**wanted, "agent": "other"}))["error"]
    assert (problem["code"], problem["details"]["reason"] in ("forbidden", "invalid_handle")) == (4018, True)


# ------------------------------------------------------------------------------------------------ Computers of the test


class Holder:
    """What a Computer answers that has one binary, and what it does wrong."""

    def __init__(self, data: bytes, step: int = 100_000, **wrong: Any) -> None:
        self.data = data
        self.step = step
        self.wrong = wrong
        self.requests: list[Any] = []
        self.on_part: Callable[[int], Any] = lambda offset: None
        """Called with the number of each request for a part. A true value is the answer."""

    def __call__(self, event: str, data: Any) -> Any:
        if event == "client:get_blob":
            return self.part(data)
        if event == "client:read_resource":
            part = {"uri": data["uri"], "mimeType": "x/y", "blob": "", "_meta": self.handle()}
            return {"contents": [part], "req_id": data["req_id"]}
        if event == "client:tool_call":
            item = {"type": "image", "mimeType": "image/png", "data": "", "meta": {**self.handle(), "own": 1}}
            return {"content": [{"type": "text", "text": "made"}, item]}
        return {"tools": [], "req_id": data["req_id"]}

    def handle(self) -> dict[str, Any]:
        handle = {"a2c_blob_handle": "h", "a2c_total_size": len(self.data), "a2c_sha256": sha(self.data)}
        return {**handle, **self.wrong.get("handle", {})}

    def part(self, data: Any) -> Any:
        self.requests.append(data)
        offset = data.get("chunk_offset", 0)
        end = min(offset + min(self.step, data.get("max_chunk_bytes", self.step)), len(self.data))
        answer = {
            "blob_handle": data["blob_handle"],
            "mime_type": "image/png",
            "total_size": len(self.data),
            "sha256": sha(self.data),
            "chunk_offset": offset,
            "eof": end == len(self.data),
            "blob": base64.b64encode(self.data[offset:end]).decode(),
            "req_id": data["req_id"],
        }
        return self.on_part(len(self.requests)) or {**answer, **self.wrong.get("part", {})}


async def test_a_computer_may_send_parts_of_any_size(scene: Stage) -> None:
    holder = Holder(payload(SOME), step=10_007)
    await scene.fake(answer=holder)
    agent = await scene.agent()
    result = await agent.call_tool("pc", "make")
    assert result.images == [payload(SOME)]
    assert result.content[1].meta == {"own": 1}
    assert {request["agent"] for request in holder.requests} == {"agent"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"handle": {"a2c_sha256": "0" * 64}},
        {"handle": {"a2c_total_size": 5}},
        {"part": {"sha256": "0" * 64}},
        {"part": {"sha256": "0" * 64}, "handle": {"a2c_sha256": None}},
        {"part": {"blob": "!"}},
        {"part": {"blob": ""}},
        {"part": {"blob": "A" * 1_000_000}},
        {"part": {"chunk_offset": 3}},
        {"part": {"total_size": "many"}},
    ],
)
async def test_a_binary_that_is_not_what_was_promised_is_rejected(
    scene: Stage, wrong: dict[str, Any], tmp_path: Path
) -> None:
    await scene.fake(answer=Holder(payload(SOME), **wrong))
    agent = await scene.agent()
    with pytest.raises(errors.InvalidAnswerError):
        await agent.call_tool("pc", "make")
    with pytest.raises(errors.InvalidAnswerError):
        await agent.read_contents("pc", "x://y", save_to=tmp_path)
    assert files(tmp_path) == []


async def test_a_download_begins_again_if_the_binary_changes_meanwhile(scene: Stage) -> None:
    holder = Holder(payload(SOME), handle={"a2c_total_size": None, "a2c_sha256": None})
    await scene.fake(answer=holder)

    def change(number: int) -> None:
        if number == 4:
            holder.data = payload(SOME + 5, 1)

    holder.on_part = change
    agent = await scene.agent()
    assert (await agent.call_tool("pc", "make")).images == [payload(SOME + 5, 1)]


@pytest.mark.parametrize("reason", ["gone", "forbidden", "invalid_handle"])
async def test_a_binary_that_is_gone_fails_the_call(scene: Stage, reason: str, tmp_path: Path) -> None:
    holder = Holder(payload(SOME))
    error = {"code": 4018, "message": "not there", "details": {"reason": reason}}
    holder.on_part = lambda number: {"error": error} if number > 3 else None
    await scene.fake(answer=holder)
    agent = await scene.agent()
    with pytest.raises(errors.BlobUnavailableError) as caught:
        await agent.call_tool("pc", "make", save_to=tmp_path)
    assert caught.value.details == {"reason": reason}
    assert files(tmp_path) == []


async def test_a_computer_that_leaves_ends_the_download(scene: Stage, tmp_path: Path) -> None:
    holder = Holder(payload(SOME))
    computer = await scene.fake(answer=holder)

    async def leave() -> None:
        await computer.disconnect()

    holder.on_part = lambda number: leave() if number == 3 else None
    agent = await scene.agent()
    with pytest.raises(errors.NotFoundError):
        await agent.call_tool("pc", "make", save_to=tmp_path)
    assert files(tmp_path) == []


async def test_a_part_that_does_not_arrive_ends_the_download(scene: Stage, tmp_path: Path) -> None:
    holder = Holder(payload(SOME))
    never = asyncio.Event()
    holder.on_part = lambda number: never.wait() if number == 3 else None
    await scene.fake(answer=holder)
    agent = await scene.agent()
    with pytest.raises(errors.TimedOutError):
        await agent.call_tool("pc", "make", timeout=0.5, save_to=tmp_path)
    never.set()
    assert files(tmp_path) == []


async def test_a_cancelled_caller_leaves_no_file(tmp_path: Path) -> None:
    async with stage("async") as scene:
        holder = Holder(payload(SOME))
        begun, never = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            await never.wait()

        holder.on_part = lambda number: wait() if number == 4 else None
        await scene.fake(answer=holder)
        agent = await scene.agent()
        call = asyncio.create_task(agent.call_tool("pc", "make", save_to=tmp_path))
        await begun.wait()
        assert len(files(tmp_path)) == 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert files(tmp_path) == []
        never.set()


# --------------------------------------------------------------------------------------------------------------- limits


async def test_a_binary_above_the_limit_stays_a_handle_and_a_text_says_so(scene: Stage, tmp_path: Path) -> None:
    await scene.computer(large())
    agent = await scene.agent(max_restored_bytes=2 * SOME)
    result = await agent.call_tool("pc", "make", {"kind": "image", "size": SOME, "count": 3})
    assert result.images == [payload(SOME, 0), payload(SOME, 1)]
    assert f"{SOME:,} bytes" in result.text
    handle = result.content[3].meta["a2c_blob_handle"]
    assert await agent.fetch_blob("pc", handle) == payload(SOME, 2)
    with pytest.raises(errors.TooLargeError):
        await agent.fetch_blob("pc", handle, max_bytes=SOME - 1)
    saved = await agent.save_blob("pc", handle, tmp_path / "third.png")
    assert (saved, sha_of(saved)) == (tmp_path / "third.png", sha(payload(SOME, 2)))
    with pytest.raises(errors.TooLargeError):
        await agent.read_contents("pc", f"large://{2 * SOME + 1}")
    with pytest.raises(errors.BlobUnavailableError):
        await agent.fetch_blob("pc", "nothing")


async def test_binaries_whose_size_only_their_parts_tell_have_the_same_limit_together(scene: Stage) -> None:
    holder = Holder(payload(SOME), handle={"a2c_total_size": None, "a2c_sha256": None})

    def answer(event: str, data: Any) -> Any:
        made = holder(event, data)
        return {"content": made["content"][1:] * 3} if event == "client:tool_call" else made

    await scene.fake(answer=answer)
    agent = await scene.agent(max_restored_bytes=2 * SOME)
    result = await agent.call_tool("pc", "make")
    assert result.images == [payload(SOME)] * 2
    assert f"{SOME:,} bytes" in result.text
    assert result.content[2].meta["a2c_blob_handle"] == "h"


# -------------------------------------------------------------------------------------------------------------- save_to


async def test_all_binaries_of_a_result_are_saved_however_small(scene: Stage, tmp_path: Path) -> None:
    await scene.computer(large())
    agent = await scene.agent()
    for size in (100, SOME):
        folder = f"{tmp_path}/new/{size}/"
        result = await agent.call_tool("pc", "make", {"kind": "file", "size": size, "count": 3}, save_to=folder)
        assert [path.name for path in result.saved_files] == ["report-0.bin", "report-1.bin", "report-2.bin"]
        assert [sha_of(path) for path in result.saved_files] == [sha(payload(size, number)) for number in range(3)]
        assert (result.text, result.files, result.images) == ("made", [], [])


async def test_a_file_that_exists_is_not_replaced(scene: Stage, tmp_path: Path) -> None:
    await scene.computer(large())
    agent = await scene.agent()
    (tmp_path / "image.png").write_text("mine")
    result = await agent.call_tool("pc", "make", {"kind": "image", "size": SOME, "count": 2}, save_to=tmp_path)
    assert {path.name for path in result.saved_files} == {"image-2.png", "image-3.png"}
    with pytest.raises(FileExistsError):
        await agent.call_tool("pc", "make", {"kind": "image", "size": SOME}, save_to=tmp_path / "image.png")
    with pytest.raises(FileNotFoundError):
        await agent.read_contents("pc", f"large://{SOME}", save_to=tmp_path / "nowhere" / "a.bin")
    assert (tmp_path / "image.png").read_text() == "mine"
    [path] = (await agent.call_tool("pc", "make", {"kind": "image", "size": 9}, save_to=tmp_path / "x.png")).saved_files
    assert (path, sha_of(path)) == (tmp_path / "x.png", sha(payload(9)))


async def test_a_binary_for_which_the_disk_has_no_room_is_not_fetched(scene: Stage, tmp_path: Path) -> None:
    holder = Holder(b"", handle={"a2c_total_size": 1 << 50}, part={"total_size": 1 << 50, "blob": "AAAA"})
    await scene.fake(answer=holder)
    agent = await scene.agent()
    with pytest.raises(OSError, match="space"):
        await agent.call_tool("pc", "make", save_to=tmp_path)
    assert len(holder.requests) == 1
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("uri", "name"),
    [("x://y/..%2F..%2Fetc%2Fpasswd", "_.._etc_passwd"), ("x://y/.bashrc", "bashrc.bin"), ("x:", "resource.bin")],
)
async def test_the_name_of_a_file_is_safe(scene: Stage, uri: str, name: str, tmp_path: Path) -> None:
    holder = Holder(b"data", part={"mime_type": "application/octet-stream"})
    await scene.fake(answer=holder)
    agent = await scene.agent()
    [part] = (await agent.read_contents("pc", uri, save_to=tmp_path))["contents"]
    assert part["_meta"] == {"a2c_saved_to": str(tmp_path / name)}
    assert [path.name for path in files(tmp_path)] == [name]
