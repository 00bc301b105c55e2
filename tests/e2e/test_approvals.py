"""Approving calls with real processes: from another terminal, and by a command of the owner's."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from a2c_smcp.utils.system.users import is_superuser
from tests.support.commands import agent_of, call, office_flags
from tests.support.mcp_servers import raw, stdio, write_config
from tests.support.process import LineProcess, a2c, computer_process, environment, server_process
from tests.support.systems import posix_only
from tests.support.terminal import terminal
from tests.support.waiting import eventually

pytestmark = [pytest.mark.anyio, posix_only]

ASK = """
import json, sys, time
request = json.load(sys.stdin)
text = request["arguments"]["text"]
if text == "wait":
    open(sys.argv[1], "w").close()
    time.sleep(600)
print("the owner says", text)
sys.exit({"yes": 0, "no": 1, "undecided": 2, "hour": 10}.get(text, 77))
"""


def settings() -> dict[str, str]:
    return {"A2C_RUNTIME_DIR": environment()["A2C_RUNTIME_DIR"]}


async def owner(env: dict[str, str], *words: str) -> Any:
    """A command in another terminal."""
    done = await asyncio.to_thread(a2c, "computer", *words, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_another_terminal_approves_denies_and_follows(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw(), default_tool_meta=None)})
    env = settings()
    with (
        server_process() as server,
        computer_process(*office_flags(server, config, "--wait-for-approval"), env=env) as computer,
    ):
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(computer.wait_for, "MCP servers ready")
            follower = LineProcess([sys.executable, "-m", "a2c_smcp.cli", "computer", "approvals", "follow"], env=env)
            try:
                waiting = asyncio.create_task(call(agent, "echo", "r1", text="one"))
                line = await asyncio.to_thread(follower.wait_for, r"(\w{12})  waits.*echo of raw")
                assert '"one"' in line.string
                assert line[1] in await owner(env, "approvals")
                assert "one" in await owner(env, "approvals", "show", line[1])
                await owner(env, "approvals", "approve", line[1][:6])
                assert (await waiting)["isError"] is False
                await asyncio.to_thread(follower.wait_for, rf"{line[1]}  allowed by a2c computer approvals")

                waiting = asyncio.create_task(call(agent, "echo", "r2", text="two"))
                line = await asyncio.to_thread(follower.wait_for, r'(\w{12})  waits.*"two"')
                await owner(env, "approvals", "deny", line[1], "--reason", "not today")
                denied = await waiting
                assert (denied["meta"]["error_code"], "not today" in denied["content"][0]["text"]) == (4005, True)
                late = await asyncio.to_thread(a2c, "computer", "approvals", "approve", line[1], env=env)
                assert (late.returncode, "too late" in late.stderr) == (1, True)
                calls = json.loads(await owner(env, "calls", "--json"))
                assert [each["is_ok"] for each in calls] == [True, False]
            finally:
                follower.stop(signal.SIGINT)
                follower.close()
        assert computer.stop(signal.SIGTERM) == 0
    gone = await asyncio.to_thread(a2c, "computer", "servers", env=env)
    assert (gone.returncode, "no Computer" in gone.stderr) == (1, True)


async def test_a_question_at_the_prompt_disappears_when_another_terminal_decides(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw(), default_tool_meta=None)})
    env = settings()
    with server_process() as server:
        flags = ("computer", *office_flags(server, config))
        async with agent_of(server) as (_, agent):
            with terminal(tmp_path, *flags, prompt="pc>", env=env) as shell:
                await asyncio.to_thread(shell.see_prompt)
                waiting = asyncio.create_task(call(agent, "echo", text="hi"))
                await asyncio.to_thread(shell.see, r"Allow it\? yes")
                (request,) = json.loads(await owner(env, "approvals", "--json"))
                await owner(env, "approvals", "approve", request["id"], "--hour")
                assert (await waiting)["isError"] is False
                await asyncio.to_thread(shell.see, r"^\(a2c computer approvals \(.*\) allowed the call\)$")
                await asyncio.to_thread(shell.see_prompt)
                assert (await call(agent, "echo", "r2", text="again"))["isError"] is False
                assert await asyncio.to_thread(shell.leave) == 0
    assert "Traceback" not in shell.raw


async def test_a_command_of_the_owner_decides(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw(), default_tool_meta=None)})
    script, started = tmp_path / "ask.py", tmp_path / "started"
    script.write_text(ASK, "utf-8")
    command = f"{sys.executable} {script} {started}"
    with (
        server_process() as server,
        computer_process(*office_flags(server, config, "--ask-command", command)) as computer,
    ):
        async with agent_of(server) as (_, agent):
            await asyncio.to_thread(computer.wait_for, "MCP servers ready")
            assert (await call(agent, "echo", text="yes"))["isError"] is False
            denied = await call(agent, "echo", text="no")
            assert (denied["meta"]["error_code"], "the owner says no" in denied["content"][0]["text"]) == (4005, True)
            for text in ("undecided", "broken"):
                assert (await call(agent, "echo", text=text))["meta"]["error_code"] == 4005
            await asyncio.to_thread(computer.wait_for, "ask command exited with code 77")

            waiting = asyncio.create_task(call(agent, "echo", "r9", text="wait"))
            await eventually(started.exists)
            await agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "r9"})
            assert (await waiting)["meta"]["a2c_cancelled"] is True
            await eventually(lambda: not running(str(started)))
            assert (await call(agent, "echo", text="hour"))["isError"] is False
            assert (await call(agent, "echo", text="undecided"))["isError"] is False


def running(word: str) -> bool:
    """Whether a program runs that has this among its arguments."""
    for each in psutil.process_iter():
        try:
            line = each.cmdline()
        except psutil.Error:  # it has just ended
            continue
        if word in line and "computer" not in line:
            return True
    return False


@pytest.fixture
def service_user() -> list[str]:
    """What starts a program as the user of a service."""
    if not is_superuser() or shutil.which("setpriv") is None:
        pytest.skip("only root can start a service as another user")
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*words, sys.executable, "-c", "import a2c_smcp"], check=False, capture_output=True).returncode:
        pytest.skip("other users cannot run this Python")
    return words


async def test_root_reaches_a_service_of_another_user_as_that_user(service_user: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="a2c-service"))
    os.chown(folder, 65534, 65534)
    env = {"A2C_RUNTIME_DIR": str(folder), "HOME": str(folder)}
    words = [*service_user, sys.executable, "-m", "a2c_smcp.cli", "computer", "--no-interactive", "--name", "lab"]
    service = LineProcess(words, env=env)
    try:
        await asyncio.to_thread(service.wait_for, "MCP servers ready")
        assert json.loads(await owner(env, "--name", "lab", "servers", "--json")) == []
    finally:
        service.close()
        shutil.rmtree(folder)
