"""Every snippet of the README and the docs runs."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from a2c_smcp.computer.mcp_clients.config_file import parse_config
from tests.e2e.test_server_command import self_signed
from tests.support.computers import LineProcess, computer_process
from tests.support.process import A2C, ServerProcess, a2c, server_process

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in FENCE.findall(page.read_text("utf-8")) if kind == language]


PYTHON = [pytest.param(code, id=f"{page.name}-{n}") for page in PAGES for n, code in enumerate(blocks(page, "python"))]


@pytest.fixture(scope="module")
def demo_office() -> Generator[str]:
    """A Server, and `my-laptop` in the office `demo`, as in the other terminals of the pages; the Server's address."""
    flags = ("--config", "examples/mcp.json", "--office", "demo", "--name", "my-laptop")
    with (
        server_process() as server,
        computer_process("--url", server.url, *flags, cwd=ROOT, env={"PYTHON": sys.executable}) as computer,
    ):
        computer.wait_for("in office demo")
        computer.wait_for("2 of 2 MCP servers ready")
        yield server.url


@pytest.mark.parametrize("code", PYTHON)
def test_python_snippets_run(code: str, demo_office: str) -> None:
    program = code.replace("http://127.0.0.1:8000", demo_office)
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False, cwd=ROOT
    )
    assert outcome.returncode == 0, outcome.stderr
    promised = re.findall(r"print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert outcome.stdout.splitlines()[: len(promised)] == promised


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_office: str) -> None:
    """In order, in an empty folder that has the files they name; servers are started, asked to stop, and do."""
    self_signed(tmp_path)
    (tmp_path / "server.toml").write_text('log_level = "info"\n')
    config = (ROOT / "examples" / "mcp.json").read_text("utf-8")
    for name in ("mcp.json", "claude_desktop_config.json"):
        (tmp_path / name).write_text(config)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("PYTHON", sys.executable)
    for line in "\n".join(blocks(page, "bash")).splitlines():
        command, *arguments = shlex.split(line, comments=True) or [""]
        if command == "make":
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        elif command == "gunicorn":
            assert_gunicorn_serves(arguments)
        elif command == "a2c" and arguments[0] == "server":
            server = ServerProcess(*[flag for flag in arguments[1:] if flag not in ("--port", "9000")], cwd=tmp_path)
            try:
                assert server.stop(signal.SIGTERM) == 0
            finally:
                server.close()
        elif command == "a2c" and arguments[0] == "computer" and "--url" in arguments:
            assert_computer_joins(arguments, tmp_path)
        elif command == "a2c" and arguments[0] == "agent":
            assert_agent_does_as_promised(arguments, demo_office)
        elif command:
            assert command == "a2c", line
            outcome = a2c(*arguments, cwd=tmp_path)
            assert outcome.returncode == 0, outcome.stderr


def assert_agent_does_as_promised(arguments: list[str], url: str) -> None:
    """It ends well; `watch` sees another Computer come."""
    if "watch" not in arguments:
        outcome = a2c(*arguments, env={"A2C_URL": url})
        assert outcome.returncode == 0, outcome.stderr
        return
    with contextlib.closing(LineProcess([*A2C, *arguments], env={"A2C_URL": url})) as watching:
        flags = ("--config", "examples/mcp.json", "--url", url, "--office", "demo", "--name", "other")
        with computer_process(*flags, cwd=ROOT, env={"PYTHON": sys.executable}):
            watching.wait_for("other came")
        assert watching.process.wait(30) == 0


def assert_computer_joins(arguments: list[str], folder: Path) -> None:
    """It joins its office, at the prompt or as a service, and leaves in good order."""
    with server_process() as server:
        flags = [server.url if flag.startswith("http://") else flag for flag in arguments]
        process = subprocess.Popen(
            [*A2C, *flags],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert any("in office demo" in line for line in process.stdout)
            if "--no-interactive" in flags:
                process.terminate()
            process.communicate(timeout=30)
            assert process.returncode == 0
        finally:
            process.kill()
            process.wait()


def test_the_example_configuration_is_valid() -> None:
    for page in ("computer.md", "documents.md"):
        for example in blocks(ROOT / "docs" / page, "json"):
            assert not parse_config(example, environment={}).warnings


def assert_gunicorn_serves(arguments: list[str]) -> None:
    """It starts, listens and stops."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *arguments], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "Booting worker" in line:
                break
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def test_the_chinese_readme_has_the_same_code_and_sections() -> None:
    english, chinese = (ROOT / name for name in ("README.md", "README.zh-CN.md"))
    for language in ("bash", "python"):
        assert blocks(english, language) == blocks(chinese, language)
    count = [len(re.findall(r"^## ", page.read_text("utf-8"), re.MULTILINE)) for page in (english, chinese)]
    assert count[0] == count[1]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
