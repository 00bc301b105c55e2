"""Skills and uploads in both Agents."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp import errors
from a2c_smcp.agent import Change, Upload
from tests.computer.offer.test_skills import write_skill
from tests.support.agents import Diary, Stage
from tests.support.hosting import offering
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


class SkillDiary(Diary):
    def on_update_skills(self, data: Any, client: Any) -> None:
        self.note("skills", data)


async def test_skills_are_listed_and_their_files_read(scene: Stage, tmp_path: Path) -> None:
    write_skill(tmp_path, "alpha", "word " * 20_000, **{"logo.png": b"\x89PNG" * 10_000, "data.json": b"{}" * 30_000})
    computer = await scene.computer(offering("a", "--skill", "beta"), skills=tmp_path)
    await computer.mcp_manager.be_listed()
    agent = await scene.agent()
    assert [each["name"] for each in await agent.skills("pc")] == ["alpha", "mcp:a:beta"]
    assert (await agent.skill("pc", "mcp:a:beta"))["body"] == "# beta\n"
    # A text is there as a whole, however long it is.
    assert (await agent.skill("pc", "alpha"))["body"] == "word " * 20_000
    assert (await agent.skill("pc", "alpha", "data.json"))["body"] == "{}" * 30_000
    picture = await agent.skill("pc", "alpha", "logo.png")
    assert (picture["mime_type"], "body" in picture) == ("image/png", False)
    data = await agent.fetch_blob("pc", picture["blob_handle"])
    assert hashlib.sha256(data).hexdigest() == picture["sha256"]
    for name, path, error in (
        ("nothing", None, errors.MCPServerNotFoundError),
        ("No Name", None, errors.SkillNameError),
        ("alpha", "../x", errors.SkillFileError),
    ):
        with pytest.raises(error):
            await agent.skill("pc", name, path)


async def test_changes_of_skills_are_reported(scene: Stage) -> None:
    diary = SkillDiary()
    computer = await scene.fake(answer=lambda event, data: {"tools": [], "req_id": data["req_id"]})
    agent = await scene.agent(handler=diary)
    changes = agent.changes()
    for _ in range(100):
        await computer.tell("server:update_skills", {"computer": "pc"})
    assert await diary.until_heard("skills") == {"computer": "pc"}
    [change] = await agent.each(changes, 1)
    assert change == Change("skills", "pc")


@pytest.mark.parametrize(
    "answer",
    [
        {"skills": None},
        {"name": "a", "rel_path": "b", "mime_type": "text/plain", "total_size": 1, "sha256": "c"},
        {"name": "a", "rel_path": "b", "mime_type": 3, "total_size": 1, "sha256": "c", "body": "d"},
        {"name": "a", "rel_path": "b", "mime_type": "t", "total_size": True, "sha256": "c", "body": "d"},
        {
            "name": "a",
            "rel_path": "b",
            "mime_type": "t",
            "total_size": 1,
            "sha256": "c",
            "body": "d",
            "blob_handle": "e",
        },
    ],
)
async def test_answers_that_are_none_are_errors(scene: Stage, answer: dict[str, Any]) -> None:
    await scene.fake(answer=lambda event, data: {"tools": [], **answer, "req_id": data["req_id"]})
    agent = await scene.agent()
    with pytest.raises(errors.InvalidAnswerError):
        await agent.skills("pc")
    with pytest.raises(errors.InvalidAnswerError):
        await agent.skill("pc", "a")


async def test_a_file_is_uploaded_and_its_path_returned(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    data = bytes(range(256)) * 6_000
    (tmp_path / "report.pdf").write_bytes(data)
    await scene.computer(landing=tmp_path / "landing")
    agent = await scene.agent()
    reports: list[Upload] = []
    landed = await agent.upload("pc", tmp_path / "report.pdf", on_progress=reports.append)
    assert landed == str(tmp_path / "landing" / "report.pdf")
    assert (tmp_path / "landing" / "report.pdf").read_bytes() == data
    assert [report.done for report in reports] == [524_288, 1_048_576, len(data)]
    assert reports[-1] == Upload("pc", "report.pdf", len(data), len(data))
    named = await agent.upload("pc", str(tmp_path / "report.pdf"), name="report.pdf")
    assert named == str(tmp_path / "landing" / "report-2.pdf")


async def test_uploads_that_cannot_be_are_errors(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "file").write_bytes(b"x")
    await scene.computer()
    agent = await scene.agent()
    with pytest.raises(errors.MalformedRequestError):
        await agent.upload("pc", tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        await agent.upload("pc", tmp_path / "nothing")
    with pytest.raises(errors.NotFoundError):
        await agent.upload("nobody", tmp_path / "file")
    with pytest.raises(errors.UploadRefusedError) as caught:
        await agent.upload("pc", tmp_path / "file")
    assert caught.value.details == {"reason": "forbidden"}


async def test_an_upload_that_fails_leaves_nothing(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "file").write_bytes(b"x" * 2_000_000)
    computer = await scene.computer(landing=tmp_path / "landing")
    agent = await scene.agent()

    def cut(report: Upload) -> None:
        scene.network.cut()

    with pytest.raises(errors.NotConnectedError):
        await agent.upload("pc", tmp_path / "file", on_progress=cut)
    await eventually(lambda: not computer.uploads.running and not list((tmp_path / "landing").iterdir()))


async def test_a_file_that_shrinks_during_its_upload_is_an_error(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    file = tmp_path / "file"
    file.write_bytes(b"x" * 2_000_000)
    await scene.computer(landing=tmp_path / "landing")
    agent = await scene.agent()

    def shrink(report: Upload) -> None:
        file.write_bytes(b"x")

    with pytest.raises(errors.MalformedRequestError):
        await agent.upload("pc", file, on_progress=shrink)
