"""`a2c computer login` and `logout` as processes: alone, at the prompt, and beside a Computer that is a service."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import Generator
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.guarded import BROWSER, Guarded, guarded
from tests.support.mcp_servers import AUTO, ROOT, write_config
from tests.support.process import WarmProcess, a2c, computer_process, server_process
from tests.support.systems import posix_only


@pytest.fixture(scope="module")
def process() -> Generator[Guarded]:
    with guarded() as server:
        yield server


@pytest.fixture
def server(process: Guarded) -> Guarded:
    process.control(reset=True)
    return process


@pytest.fixture
def config(server: Guarded, tmp_path: Path) -> str:
    return str(write_config(tmp_path, {"guarded": {"url": server.url, "default_tool_meta": AUTO}}))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user without logins, whose browser agrees to everything."""
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "BROWSER": BROWSER, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def env_without_browser(env: dict[str, str]) -> dict[str, str]:
    return {**env, "BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}


def test_owner_logs_in_and_out(server: Guarded, config: str, env: dict[str, str]) -> None:
    before = a2c("computer", "--config", config, "status", env=env)
    assert before.returncode == 1
    assert "waiting for login" in before.stdout
    shown = re.search(r"log in with: a2c (.*)$", before.stdout.replace("\n", ""))
    assert shown is not None
    login = a2c(*shlex.split(shown[1]), env=env)  # the command works as it is shown
    assert (login.returncode, login.stderr) == (0, "")
    assert login.stdout.endswith("logged in to guarded: 2 tools\n")
    assert a2c("computer", "--config", config, "call", "echo", "text=hi", env=env).returncode == 0
    listed = a2c("computer", "login", "--list", "--json", env=env)
    assert [(entry["url"], entry["state"]) for entry in json.loads(listed.stdout)] == [(server.url, "logged in")]
    assert not any(token in listed.stdout for token in server.control()["all"])
    assert server.url in a2c("computer", "login", "--list", env=env).stdout
    logout = a2c("computer", "--config", config, "logout", "guarded", env=env)
    assert (logout.returncode, logout.stdout) == (0, "logged out of guarded\n")
    assert server.control()["refresh"] == []
    assert a2c("computer", "--config", config, "status", env=env).returncode == 1


def test_program_reads_the_outcome_as_json(server: Guarded, config: str, env: dict[str, str]) -> None:
    login = a2c("computer", "--config", config, "login", "guarded", "--json", env=env)
    assert login.returncode == 0
    assert "/authorize?" in login.stderr
    status = json.loads(login.stdout)
    assert (status["name"], status["state"], status["tools"]) == ("guarded", "ready", 2)
    stored = json.loads(a2c("computer", "login", "--list", "--json", env=env).stdout)
    assert datetime.fromisoformat(stored[0]["since"]) < datetime.fromisoformat(stored[0]["expires"])


def test_list_shows_a_login_that_never_ends(server: Guarded, config: str, env: dict[str, str]) -> None:
    server.behave(lifetime=10**15)
    assert a2c("computer", "--config", config, "login", "guarded", env=env).returncode == 0
    assert server.url in a2c("computer", "login", "--list", env=env).stdout


def test_call_that_lacks_rights_is_reported_to_the_owner_and_the_agent(
    server: Guarded, config: str, env: dict[str, str]
) -> None:
    a2c("computer", "--config", config, "login", "guarded", env=env)
    with server_process() as hub:
        office = ["--url", hub.url, "--office", "o"]
        with computer_process("--config", config, *office, "--name", "pc", env=env) as service:
            service.wait_for("1 of 1 MCP servers ready")
            service.wait_for("in office o as pc")
            for _ in range(2):
                outcome = a2c("agent", *office, "call", "pc", "admin")
                assert outcome.returncode == 1
                assert "needs a login with further rights" in outcome.stdout
                assert "a2c computer login guarded" in outcome.stdout
            service.wait_for(r"further rights \(admin\); log in with: a2c computer --config .* login guarded")
            assert service.text.count("further rights (admin)") == 1
            a2c("computer", "--config", config, "login", "guarded", env=env)
            assert a2c("agent", *office, "call", "pc", "admin").stdout == "done\n"
            a2c("computer", "--config", config, "logout", "guarded", env=env)
            assert a2c("agent", *office, "call", "pc", "echo", "text=hi").returncode == 1
            service.wait_for("requires a login; log in with")


def test_address_needs_no_configuration(server: Guarded, env: dict[str, str]) -> None:
    assert a2c("computer", "login", server.url, env=env).returncode == 0
    assert a2c("computer", "logout", server.url, env=env).stdout == f"logged out of {server.url}\n"


def test_doctor_shows_the_command(config: str, env: dict[str, str]) -> None:
    report = a2c("doctor", "--config", config, env=env)
    assert f"a2c computer --config {config} login guarded" in report.stdout.replace("\n", "")


def test_commands_at_the_prompt(config: str, env: dict[str, str]) -> None:
    typed = "call echo text=before\nlogin guarded\ncall echo text=after\nlogin --list\nlogout guarded\nstatus\nquit\n"
    outcome = a2c("computer", "--config", config, env=env, typed=typed)
    assert "after" in outcome.stdout
    assert "logged in" in outcome.stdout
    assert "logged out of guarded" in outcome.stdout
    assert "waiting for login" in outcome.stdout


def test_running_service_notices_a_login(config: str, env: dict[str, str]) -> None:
    with computer_process("--config", config, env=env) as service:
        service.wait_for("requires a login")
        assert a2c("computer", "--config", config, "login", "guarded", env=env).returncode == 0
        service.wait_for("guarded has a new login")
        assert service.stop(signal.SIGTERM) == 0
    assert "Traceback" not in service.text


def test_rejected_login_is_one_line(server: Guarded, config: str, env: dict[str, str]) -> None:
    server.behave(deny=True)
    outcome = a2c("computer", "--config", config, "login", "guarded", env=env)
    assert outcome.returncode == 1
    assert outcome.stderr == "a2c: the authorization server rejected the login: access_denied: not today\n"


def test_unknown_server_is_named(config: str, env: dict[str, str]) -> None:
    outcome = a2c("computer", "--config", config, "login", "gaurded", env=env)
    assert outcome.returncode == 2
    assert "did you mean guarded?" in outcome.stderr
    without = a2c("computer", "login", "guarded", env=env)
    assert (without.returncode, "--config FILE" in without.stderr) == (2, True)
    assert a2c("computer", "--config", config, "login", env=env).returncode == 2


@posix_only
def test_login_without_a_browser_prints_the_address_and_ends_on_ctrl_c(
    config: str, env_without_browser: dict[str, str]
) -> None:
    process = WarmProcess(["a2c", "computer", "--config", config, "login", "guarded"], env=env_without_browser)
    try:
        process.type()
        process.wait_for(r"^  http://127\.0\.0\.1:\d+/authorize\?")
        process.wait_for(r"ssh -L \d+:127\.0\.0\.1:\d+")
        assert process.stop(signal.SIGINT) == 130
    finally:
        process.close()
    assert "Traceback" not in process.text
