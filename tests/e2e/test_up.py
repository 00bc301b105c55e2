"""`a2c up` as a newcomer runs it: in a terminal, without one, with a tour, and with mistakes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.support.mcp_servers import raw, stdio, write_config
from tests.support.process import LineProcess, WarmProcess, a2c, descendants, free_port, watching
from tests.support.terminal import CTRL_C, CTRL_D, ENTER, TerminalProcess
from tests.support.terminal import terminal as any_terminal
from tests.support.waiting import PATIENCE, eventually

STEPS = 9


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "notes.md").write_text("# Alpha\n\nFirst words.\n\n# Beta\n\nSecond words.\n")
    (folder / "people.csv").write_text("name,age\nAnn,40\nBob,50\n")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is found of whoever runs the tests, and everything left behind is."""
    for name in ("home", "temp", "cache"):
        (tmp_path / name).mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temp"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"),
    }


@contextlib.contextmanager
def up(env: dict[str, str], *flags: str) -> Generator[LineProcess]:
    """A running `a2c up` without a terminal."""
    with contextlib.closing(WarmProcess(["a2c", "up", "--port", str(free_port()), *flags], env=env)) as process:
        process.type()
        yield process


@contextlib.contextmanager
def terminal(folder: Path, env: dict[str, str], *flags: str) -> Generator[TerminalProcess]:
    with any_terminal(folder, "up", "--port", str(free_port()), *flags, prompt="", env=env) as process:
        yield process


def left_in(env: dict[str, str]) -> list[str]:
    return os.listdir(env["TMPDIR"])


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return a2c("up", "--port", str(free_port()), *arguments, env=env)


def test_the_tour_of_the_bundled_documents_ends_well_and_leaves_nothing(place: dict[str, str]) -> None:
    left = Path(place["TMPDIR"]) / "a2c-up-left"  # of one that was killed
    left.mkdir()
    os.utime(left, (0, 0))
    done = run(place, "--tour", "--name", "my-laptop")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if re.match(r"\d+\. ", line)][-1].startswith(f"{STEPS}. ")
    said = " ".join(done.stdout.split())
    assert "my-laptop" in said
    assert "✗" not in said
    assert "The Agent was notified after" in said
    assert "up --with-my-config" in said, "what to type next"
    assert not done.stderr
    assert not left_in(place)
    assert not descendants()


def test_a_tour_of_an_empty_folder_leaves_out_what_there_is_not(tmp_path: Path, place: dict[str, str]) -> None:
    (empty := tmp_path / "empty").mkdir()
    done = run(place, str(empty), "--tour")
    told = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout
    assert f"Skipped: {empty} is empty; files that you add appear at once." in told
    assert told.count("Skipped: ") == 5
    assert "The tour removed the file, and the Agent was notified again." in told
    assert not left_in(place)


def test_at_a_terminal_the_tour_waits_for_enter_after_each_step_and_leaves_the_folder_as_it_was(
    files: Path, tmp_path: Path, place: dict[str, str]
) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    with terminal(tmp_path, place, str(files), "--tour") as screen:
        screen.see(r"^1\. List the Computers")
        screen.see(r"^Enter: next step; .*\Z")
        assert "2. List the tools" not in screen.screen.text
        screen.type(ENTER)
        screen.see(r"^2\. List the tools(?s:.*)^Enter: next step; .*\Z")
        screen.type(CTRL_D)
        screen.see(rf"^{STEPS}\. ")
        screen.see("The tour is complete.")
        assert {path.name: path.read_bytes() for path in files.iterdir()} == before
        assert "Alpha" in screen.screen.text
        assert "✗" not in screen.screen.text
        screen.see("✓ +documents +ready")
        assert screen.screen.text.count("Enter: next step") == 2
        screen.type(CTRL_C)
        assert screen.end() == 0


def test_ctrl_c_ends_a_tour_that_waits(files: Path, tmp_path: Path, place: dict[str, str]) -> None:
    with terminal(tmp_path, place, str(files), "--tour") as screen:
        screen.see(r"^Enter: next step")
        screen.type(CTRL_C)
        assert screen.end() == 130
    assert "Traceback" not in screen.raw
    assert not left_in(place)


def test_a_tour_in_which_a_step_fails_says_which_and_ends_with_1(files: Path, place: dict[str, str]) -> None:
    (files / "a2c-tour.md").write_text("mine")
    done = run(place, str(files), "--tour")
    assert done.returncode == 1
    assert "already exists; the tour does not overwrite files" in " ".join(done.stdout.split())
    assert (files / "a2c-tour.md").read_text() == "mine"


def test_a_terminal_shows_who_is_there_and_what_happens(files: Path, tmp_path: Path, place: dict[str, str]) -> None:
    with terminal(tmp_path, place, str(files), "--name", "my-laptop", "--office", "acme") as screen:
        screen.see(r"A2C office acme")
        screen.see(r"✓ +documents +ready +3 +0 +2")
        screen.see(r"✓ +machine +ready +0 +2 +0")
        screen.see(r"Computer +● +my-laptop")
        screen.see(r"Agent +○ +none yet")
        url, key = screen.see(r"A2C_URL=(\S+) A2C_OFFICE=acme")[1], screen.see(r"A2C_API_KEY=(\S+)")[1]
        seat = {"A2C_URL": url, "A2C_OFFICE": "acme", "A2C_API_KEY": key}
        called = a2c("agent", "call", "my-laptop", "search_documents", "query=words", env=seat)
        assert called.returncode == 0, called.stderr
        assert "Alpha" in called.stdout
        screen.see(r"a2c-agent joined \(Agent\)")
        screen.see(r"a2c-agent called search_documents on my-laptop +ok +\d+ ms")
        screen.see(r"a2c-agent left")
        desktop = a2c("agent", "desktop", env=seat)
        assert "Recent activity" in desktop.stdout
        assert "a2c-agent called search_documents on my-laptop: ok after" in desktop.stdout
        assert "memory:" in desktop.stdout
        with watching(descendants() - {screen.process.pid}) as watch:
            screen.type(CTRL_C)
            assert screen.end() == 0
            assert not watch.still_alive()
    assert not left_in(place)
    with socket.create_server(("127.0.0.1", int(url.rpartition(":")[2]))):
        pass  # the port is free again


def test_without_a_terminal_it_prints_what_happens_until_it_is_told_to_stop(files: Path, place: dict[str, str]) -> None:
    with up(place, str(files), "--office", "acme", "--api-key", "a-key") as process:
        process.wait_for(r"MCP server documents is ready")
        process.wait_for(r"export A2C_API_KEY=a-key")
        url = process.wait_for(r"A2C_URL=(\S+)")[1]
        refused = a2c("agent", "--url", url, "--office", "acme", "--api-key", "wrong", "tools")
        assert refused.returncode == 3
        assert "A2C_API_KEY" in refused.stderr
        with watching(descendants() - {process.process.pid}) as watch:
            assert process.stop(signal.SIGTERM) == 0
            assert not watch.still_alive()
    assert not left_in(place)


def test_a_request_that_names_another_host_is_rejected(files: Path, place: dict[str, str]) -> None:
    with up(place, str(files), "--api-key", "k", "--office", "demo") as process:
        url = process.wait_for(r"A2C_URL=(\S+)")[1]
        headers = {
            "x-api-key": "k",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        codes = [
            httpx2.post(f"{url}/mcp/demo", headers={**headers, **host}, json=ping, timeout=PATIENCE).status_code
            for host in ({"host": "evil.example"}, {})
        ]
        assert codes[0] == 403
        assert codes[1] != 403


def test_what_is_killed_hard_leaves_no_process(files: Path, place: dict[str, str]) -> None:
    with up(place, str(files)) as process:
        process.wait_for(r"MCP server documents is ready")
        process.wait_for(r"MCP server machine is ready")
        with watching(descendants() - {process.process.pid}) as watch:
            process.process.kill()
            assert not watch.still_alive()


def test_more_mcp_servers_come_from_a_file_and_from_other_hosts(
    files: Path, tmp_path: Path, place: dict[str, str]
) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw()), "documents": stdio(raw())})
    cursor = Path(place["HOME"]) / ".cursor"
    cursor.mkdir()
    command = raw()
    servers = {"mine": {"command": command[0], "args": command[1:]}}
    (cursor / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    with up(place, str(files), "--config", str(config), "--with-my-config") as process:
        process.wait_for(r"mcp.json: raw, documents$")
        process.wait_for(rf"{re.escape(str(cursor))}/mcp.json: mine$")
        for name in ("raw", "documents", "a2c-documents", "mine"):
            process.wait_for(rf"MCP server {name} is ready")
        assert process.stop(signal.SIGINT) == 0


def test_my_config_that_is_nowhere_ends_it(files: Path, place: dict[str, str]) -> None:
    done = run(place, str(files), "--with-my-config")
    assert done.returncode == 2
    assert ".cursor/mcp.json" in done.stderr


def test_mistakes_are_told_before_anything_starts(files: Path, tmp_path: Path, place: dict[str, str]) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"servers": {"it": {"comand": "x"}}}')
    done = run(place, str(files), "--config", str(config))
    assert done.returncode == 2
    assert "servers.it" in done.stderr
    missing = run(place, str(tmp_path / "nowhere"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no such folder" in missing.stderr
    too_long = run(place, str(files), "--office", "x" * 300)
    assert (too_long.returncode, too_long.stdout) == (2, "")
    assert "office_id: 300 characters, at most 256 are allowed" in too_long.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = a2c("up", str(files), "--port", str(port), env=place)
    assert refused.returncode == 1
    assert f"127.0.0.1:{port}" in refused.stderr
    assert not left_in(place)


def test_inputs_are_asked_for_before_it_starts(files: Path, tmp_path: Path, place: dict[str, str]) -> None:
    inputs = [{"id": "word", "type": "promptString", "description": "A word"}]
    servers = {"raw": stdio(raw(), env={"WORD": "${input:word}"})}
    config = write_config(tmp_path, servers, inputs)
    with terminal(tmp_path, place, str(files), "--config", str(config)) as screen:
        screen.see(r"A word \[word\]:")
        screen.type("open sesame\r")
        screen.see(r"✓ +raw +ready")
        screen.type(CTRL_C)
        assert screen.end() == 0
    with terminal(tmp_path, place, str(files), "--config", str(config)) as screen:
        screen.see(r"A word \[word\]:")
        screen.type(CTRL_C)
        assert screen.end() == 130


def login_token(process: LineProcess, after: int = 0) -> str:
    return process.wait_for(r"/console/login#token=(\S+)", after)[1]


@pytest.mark.anyio
async def test_one_address_logs_in_once_to_the_pages_of_both(files: Path, place: dict[str, str]) -> None:
    with up(place, str(files), "--office", "acme", "--name", "pc") as process:
        url = process.wait_for(r"A2C_URL=(\S+)")[1]
        process.wait_for(r"pc joined")
        token = login_token(process)
        assert process.text.count("#token=") == 1, "one address for both"
        with httpx2.Client(base_url=url, timeout=PATIENCE) as person:
            assert person.post("/api/v1/session", json={"token": token}).status_code == 200
            other = httpx2.post(f"{url}/api/v1/session", json={"token": token}, timeout=PATIENCE)
            assert other.status_code == 401
            first = person.get("/console/computer")
            assert first.status_code == 303
            page, _, owner_token = first.headers["location"].partition("/console/login#token=")
            with httpx2.Client(base_url=page, timeout=PATIENCE) as owner:
                assert owner.get("/api/v1/approvals").status_code == 401
                assert owner.post("/api/v1/session", json={"token": owner_token}).status_code == 200
                assert owner.get("/api/v1/computer").json()["name"] == "pc"
                assert f"{url}/console/" in owner.get("/console/").text
                # To log out of the console ends both.
                csrf = {"x-csrf-token": person.get("/api/v1/session").json()["csrf"]}
                assert person.delete("/api/v1/session", headers=csrf).status_code == 204
                await eventually(lambda: owner.get("/api/v1/approvals").status_code == 401)
            assert person.get("/console/computer").headers["location"].startswith("/console/login")
            await eventually(lambda: process.text.count("#token=") > 1)
            token = re.findall(r"#token=(\S+)", process.text)[-1]
            assert person.post("/api/v1/session", json={"token": token}).status_code == 200
            # Another login needs another address, also after a crash of the Computer.
            second = await owner_address(person, {first.headers["location"]})
            computer = next(
                pid for pid in descendants() if "a2c_smcp.cli.up.computer_process" in psutil.Process(pid).cmdline()
            )
            os.kill(computer, signal.SIGKILL)
            await owner_address(person, {first.headers["location"], second})


async def owner_address(person: httpx2.Client, known: set[str]) -> str:
    """Where the navigation leads to, once that is another address than before."""
    found: list[str] = []

    def look() -> bool:
        answer = person.get("/console/computer")
        found[:] = [answer.headers.get("location", "")]
        return answer.status_code == 303 and found[0] not in known

    await eventually(look)
    return found[0]
