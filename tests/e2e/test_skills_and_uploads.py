"""`a2c agent` and `a2c computer` as processes: skills in a folder, and files that are uploaded into another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.computer.offer.test_skills import write_skill
from tests.support.mcp_servers import SERVERS, stdio, write_config
from tests.support.process import LineProcess, ServerProcess, a2c, computer_process, server_process

OFFERING = [sys.executable, str(SERVERS / "offering.py"), "--skill", "served"]


@dataclass(frozen=True)
class Desk:
    """A Server, and a Computer with skills and a landing folder."""

    server: ServerProcess
    computer: LineProcess
    folder: Path

    def agent(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return a2c("agent", "--url", self.server.url, "--office", "office", *words, typed=typed)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    write_skill(folder / "skills", "alpha", "# Alpha\n", notes=b"some notes", **{"logo.png": b"\x89PNG\x00"})
    (folder / "landing").mkdir()
    config = write_config(folder, {"it": stdio(OFFERING)})
    folders = ["--skills", str(folder / "skills"), "--landing", str(folder / "landing")]
    with server_process() as server:
        office = ["--url", server.url, "--office", "office", "--name", "desk"]
        with computer_process("--config", str(config), *folders, *office) as computer:
            computer.wait_for("1 of 1 MCP servers ready")
            computer.wait_for("in office office as desk")
            yield Desk(server, computer, folder)


def test_skills_are_listed_and_shown(desk: Desk, tmp_path: Path) -> None:
    shown = desk.agent("skills").stdout
    assert "alpha" in shown
    assert "About alpha." in shown
    assert "mcp:it:served" in shown
    listed = json.loads(desk.agent("skills", "desk", "--json").stdout)
    assert [each["name"] for each in listed["desk"]] == ["alpha", "mcp:it:served"]
    assert desk.agent("skill", "alpha").stdout == "# Alpha\n"
    assert desk.agent("skill", "mcp:it:served").stdout == "# served\n"
    assert desk.agent("skill", "alpha", "notes").stdout == "some notes\n"
    assert json.loads(desk.agent("skill", "alpha", "--json").stdout)["body"] == "# Alpha\n"
    assert desk.agent("skill", "alpha", "logo.png").returncode == 1
    assert desk.agent("skill", "alpha", "logo.png", "--output", str(tmp_path / "logo")).returncode == 0
    assert (tmp_path / "logo").read_bytes() == b"\x89PNG\x00"
    for words, code in ((["nothing"], 4), (["alpha", "../x"], 1), (["No Name"], 1)):
        assert desk.agent("skill", *words).returncode == code


def test_a_file_is_uploaded(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_text("hello", "utf-8")
    landed = desk.folder / "landing" / "report.txt"
    assert desk.agent("upload", str(file)).stdout == f"{landed}\n"
    assert landed.read_text("utf-8") == "hello"
    desk.computer.wait_for(r"a2c-agent uploaded .*report\.txt \(5 bytes\)")
    answer = json.loads(desk.agent("upload", str(file), "--name", "../x.txt", "--computer", "desk", "--json").stdout)
    assert answer == {"computer": "desk", "landing_path": str(landed.with_name("x.txt"))}
    outcome = desk.agent("upload", str(tmp_path / "nothing"))
    assert (outcome.returncode, "no such file" in outcome.stderr) == (2, True)


def test_the_prompt_of_an_agent_knows_skills_and_uploads(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "typed.txt"
    file.write_text("hello", "utf-8")
    outcome = desk.agent(typed=f"skills desk\nskill alpha notes\nupload '{file}' desk\n")
    assert outcome.returncode == 0, outcome.stderr
    for words in ("About alpha.", "some notes", str(desk.folder / "landing" / "typed.txt")):
        assert words in outcome.stdout


def test_the_prompt_of_a_computer_shows_its_skills_and_uploads(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "alpha")
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text("nothing", "utf-8")
    folders = ["--skills", str(tmp_path / "skills"), "--landing", str(tmp_path)]
    outcome = a2c("computer", *folders, typed="skills\nstatus\n")
    assert outcome.returncode == 0, outcome.stderr
    assert "About alpha." in outcome.stdout
    assert "skill broken: it does not begin with front matter" in outcome.stdout
    assert f"uploads: into {tmp_path}, 0 received, 0 running" in outcome.stdout


@pytest.mark.parametrize("option", ["--skills", "--landing"])
def test_a_folder_that_does_not_exist_ends_the_command(option: str, tmp_path: Path) -> None:
    outcome = a2c("computer", option, str(tmp_path / "nothing"), "status")
    assert (outcome.returncode, f"{option} {tmp_path / 'nothing'}: no such folder" in outcome.stderr) == (2, True)
