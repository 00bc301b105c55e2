"""Uploads, as a Computer takes them from a client in any language: part by part, into a folder of the owner's."""

from __future__ import annotations

import base64
import errno
import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.offer import landing, uploads
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.landing import safe_name
from a2c_smcp.errors import UploadRefusedError
from a2c_smcp.smcp import PutBlobReq
from tests.support.hosting import hosting
from tests.support.offices import Office, office
from tests.support.peer import request
from tests.support.waiting import eventually

anyio = pytest.mark.anyio
AGENT = Caller("office", "agent")


def part(offset: int, data: bytes, eof: bool = True, **fields: Any) -> dict[str, Any]:
    return {"chunk_offset": offset, "eof": eof, "blob": base64.b64encode(data).decode(), **fields}


def first(data: bytes, eof: bool = True, whole: bytes | None = None, **fields: Any) -> dict[str, Any]:
    """The first part of an upload, or the only one."""
    whole = data if whole is None else whole
    declared = {"total_size": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
    return part(0, data, eof, **{**declared, **fields})


async def put(here: Office, fields: dict[str, Any]) -> dict[str, Any]:
    return await here.agent.ask("client:put_blob", request(**fields))


async def refusal(here: Office, fields: dict[str, Any]) -> str:
    error = (await put(here, fields))["error"]
    assert error["code"] == 4019
    return error["details"]["reason"]


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@anyio
async def test_a_file_arrives_in_parts_and_gets_its_name_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    data = os.urandom(3_000)
    async with office(landing=tmp_path) as here:
        answer = await put(here, first(data[:1_000], False, data, name_hint="report.pdf"))
        assert (answer["req_id"], answer["chunk_offset"], "landing_path" in answer) == ("r1", 1_000, False)
        assert [name for name in files(tmp_path) if not name.startswith(".")] == []
        assert here.computer.uploads.running == 1
        upload_id = answer["upload_id"]
        await put(here, part(1_000, data[1_000:2_000], False, upload_id=upload_id))
        answer = await put(here, part(2_000, data[2_000:], upload_id=upload_id))
        assert answer == {
            "upload_id": upload_id,
            "chunk_offset": 3_000,
            "req_id": "r1",
            "landing_path": str(tmp_path / "report.pdf"),
            "total_size": 3_000,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        assert (tmp_path / "report.pdf").read_bytes() == data
        assert files(tmp_path) == ["report.pdf"]
        assert f"agent uploaded {tmp_path / 'report.pdf'} (3000 bytes)" in caplog.text
        assert (here.computer.uploads.received, here.computer.uploads.running) == (1, 0)


@anyio
async def test_without_a_landing_folder_every_upload_is_forbidden() -> None:
    async with office() as here:
        assert await refusal(here, first(b"x")) == "forbidden"
        assert await refusal(here, part(0, b"x", upload_id="u")) == "forbidden"


@anyio
async def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine", "utf-8")
    (tmp_path / "outside").write_text("mine", "utf-8")
    async with office(landing=tmp_path / "landing") as here:
        (tmp_path / "landing").mkdir()
        taken = tmp_path / "landing"
        (taken / "a.txt").write_text("mine", "utf-8")
        (taken / "a-2.txt").symlink_to(tmp_path / "nothing")
        answer = await put(here, first(b"theirs", name_hint="a.txt"))
        assert answer["landing_path"] == str(taken / "a-3.txt")
        assert (taken / "a.txt").read_text("utf-8") == "mine"
        assert not (tmp_path / "nothing").exists()
        answer = await put(here, first(b"theirs", name_hint="../outside"))
        assert answer["landing_path"] == str(taken / "outside")
        assert (tmp_path / "outside").read_text("utf-8") == "mine"


@anyio
async def test_a_disk_without_hard_links_gets_files_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: Any, target: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(landing.os, "link", link)
    async with office(landing=tmp_path) as here:
        for name in ("a", "a-2"):
            assert (await put(here, first(b"x", name_hint="a")))["landing_path"] == str(tmp_path / name)
        assert files(tmp_path) == ["a", "a-2"]


@anyio
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"total_size": None}, "invalid_declaration"),
        ({"total_size": 0}, "invalid_declaration"),
        ({"sha256": None}, "invalid_declaration"),
        ({"sha256": "z" * 64}, "invalid_declaration"),
        ({"sha256": "0" * 64}, "integrity"),
        ({"name_hint": "x" * 1_001}, "invalid_declaration"),
        ({"chunk_offset": 1}, "range"),
        ({"total_size": 1}, "range"),
        ({"total_size": 9}, "range"),
        ({"total_size": 104_857_601, "eof": False}, "too_large"),
        ({"blob": "not base64!", "total_size": 8}, "integrity"),
        ({"blob": "", "eof": False}, "range"),
    ],
)
async def test_a_first_part_that_does_not_fit_is_rejected_and_leaves_nothing(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    async with office(landing=tmp_path) as here:
        assert await refusal(here, {**first(b"four"), **fields}) == reason
        assert here.computer.uploads.running == 0
        await eventually(lambda: files(tmp_path) == [])


@anyio
async def test_later_parts_have_to_follow_the_ones_before(tmp_path: Path) -> None:
    async with office(landing=tmp_path) as here:
        upload_id = (await put(here, first(b"ab", False, b"abcd")))["upload_id"]
        going_on: Sequence[tuple[dict[str, Any], str]] = (
            (part(0, b"ab", upload_id=upload_id), "range"),
            (part(3, b"d", upload_id=upload_id), "range"),
            (part(2, b"cde", upload_id=upload_id), "range"),
            (part(2, b"c", upload_id=upload_id), "range"),
            (part(2, b"", False, upload_id=upload_id), "range"),
            (part(2, b"cd", upload_id=upload_id, total_size=4), "invalid_declaration"),
            (part(2, b"cd", upload_id="unknown"), "invalid_upload"),
        )
        for fields, reason in going_on:
            assert await refusal(here, fields) == reason, fields
        # The upload has survived all of this.
        assert "landing_path" in await put(here, part(2, b"cd", upload_id=upload_id))
        assert await refusal(here, part(4, b"", upload_id=upload_id)) == "invalid_upload"
        assert [(tmp_path / name).read_bytes() for name in files(tmp_path)] == [b"abcd"]


@anyio
async def test_a_wrong_hash_ends_the_upload_and_removes_the_file(tmp_path: Path) -> None:
    async with office(landing=tmp_path) as here:
        upload_id = (await put(here, first(b"ab", False, b"abcd")))["upload_id"]
        assert await refusal(here, part(2, b"xx", upload_id=upload_id)) == "integrity"
        assert await refusal(here, part(2, b"cd", upload_id=upload_id)) == "invalid_upload"
        await eventually(lambda: files(tmp_path) == [])


@anyio
async def test_four_uploads_run_at_a_time(tmp_path: Path) -> None:
    async with office(landing=tmp_path) as here:
        ids = [(await put(here, first(b"a", False, b"ab")))["upload_id"] for _ in range(4)]
        assert await refusal(here, first(b"a", False, b"ab")) == "busy"
        await put(here, part(1, b"b", upload_id=ids[0]))
        assert "upload_id" in await put(here, first(b"a", False, b"ab"))


@anyio
async def test_an_upload_belongs_to_one_agent(tmp_path: Path) -> None:
    async with hosting(landing=tmp_path) as computer:
        answer = await computer.uploads.put(payload(first(b"a", False, b"ab")), AGENT)
        for stranger in (Caller("office", "other"), Caller("other", "agent")):
            with pytest.raises(UploadRefusedError) as caught:
                await computer.uploads.put(payload(part(1, b"b", upload_id=answer["upload_id"])), stranger)
            assert caught.value.details == {"reason": "forbidden"}


def payload(fields: dict[str, Any]) -> PutBlobReq:
    return request(**fields)  # pyright: ignore[reportReturnType]


@anyio
async def test_uploads_end_with_their_agent_and_their_computer(tmp_path: Path) -> None:
    async with office(landing=tmp_path) as here:
        upload_id = (await put(here, first(b"a", False, b"ab")))["upload_id"]
        await here.agent.disconnect()
        await eventually(lambda: files(tmp_path) == [])
        again = await here.people.member("agent", "agent", "office")
        answer = await again.ask("client:put_blob", request(**part(1, b"b", upload_id=upload_id)))
        assert answer["error"]["details"]["reason"] == "invalid_upload"
        await again.ask("client:put_blob", request(**first(b"a", False, b"ab")))
        assert len(files(tmp_path)) == 1
        await here.client.leave_office("office")
        await eventually(lambda: files(tmp_path) == [])
    async with hosting(landing=tmp_path) as computer:
        await computer.uploads.put(payload(first(b"a", False, b"ab")), AGENT)
        assert len(files(tmp_path)) == 1
    assert files(tmp_path) == []


@anyio
async def test_an_upload_that_stands_still_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = uploads.Uploads(tmp_path, idle_seconds=0.05)
    answer = await running.put(payload(first(b"a", False, b"ab")), AGENT)
    await eventually(lambda: not running.running and files(tmp_path) == [])
    with pytest.raises(UploadRefusedError) as caught:
        await running.put(payload(part(1, b"b", upload_id=answer["upload_id"])), AGENT)
    assert caught.value.details == {"reason": "invalid_upload"}


@anyio
async def test_what_an_earlier_process_left_is_removed_at_the_start(tmp_path: Path) -> None:
    old, new, other = (tmp_path / name for name in (".a2c-upload-1.part", ".a2c-upload-2.part", "keep.part"))
    for path in (old, new, other):
        path.write_bytes(b"x")
    for path in (old, other):
        os.utime(path, (0, 0))
    async with hosting(landing=tmp_path):
        await eventually(lambda: not old.exists())
        assert files(tmp_path) == [new.name, other.name]


@anyio
async def test_a_disk_that_fails_is_an_io_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computer = Computer("pc", landing=tmp_path / "gone")
    for spare in (None, 1 << 62):
        if spare is not None:  # as on a full disk
            monkeypatch.setattr(landing, "SPARE_BYTES", spare)
            (tmp_path / "gone").mkdir()
        with pytest.raises(UploadRefusedError) as caught:
            await computer.uploads.put(payload(first(b"x")), AGENT)
        assert caught.value.details == {"reason": "io_error"}
        assert str(tmp_path) not in caught.value.message
    assert files(tmp_path / "gone") == []


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("C:evil.txt", "C_evil.txt"),
        ("../..", "upload"),
        ("", "upload"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a\nb\x00c\u202etxt.exe", "a_b_c_txt.exe"),
        ("nul.txt", "_nul.txt"),
        ("COM1", "_COM1"),
        ("trailing. ", "trailing"),
        ("$(reboot);`x`", "_(reboot)__x_"),
        ("报告 1.docx", "报告 1.docx"),
    ],
)
def test_names_of_files_are_safe_everywhere(hint: str, name: str) -> None:
    assert safe_name(hint) == name


@given(st.text(max_size=400))
def test_any_hint_gives_a_name_within_one_folder(hint: str) -> None:
    name = safe_name(hint)
    assert 0 < len(name.encode()) <= 200
    assert Path(name).name == name
    assert not name.startswith((".", "-"))
    assert name.isprintable()
