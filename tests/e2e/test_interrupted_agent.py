"""Programs that are an Agent and get Ctrl-C in the middle of a call: they end at once, and so does the tool."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.mcp_servers import SERVERS, raw, received, stdio, write_config
from tests.support.peer import crowd
from tests.support.process import LineProcess, ServerProcess, computer_process, server_process
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

BLOCKING = """
import sys
from a2c_smcp.agent import SMCPAgentClient

with SMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
    agent.emit_tool_call("pc", "sleep", {"seconds": 600}, 1_200)
print("it slept")
"""
ASYNCIO = """
import asyncio, sys
from a2c_smcp.agent import AsyncSMCPAgentClient

async def main():
    async with AsyncSMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
        await agent.emit_tool_call("pc", "sleep", {"seconds": 600}, 1_200)
    print("it slept")

asyncio.run(main())
"""
PROGRAMS = {"blocking": BLOCKING, "asyncio": ASYNCIO}
GOING_ON = {
    "blocking": """
import sys
from a2c_smcp.agent import SMCPAgentClient

def call(tool, **params):
    with SMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
        return agent.emit_tool_call("pc", tool, params, 1_200)

try:
    call("sleep", seconds=600)
except KeyboardInterrupt:
    print("interrupted")
print(call("echo", text="and on it goes").content[0].text)
""",
    "asyncio": """
import asyncio, sys
from a2c_smcp.agent import AsyncSMCPAgentClient

async def call(tool, **params):
    async with AsyncSMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
        return await agent.emit_tool_call("pc", tool, params, 1_200)

try:
    asyncio.run(call("sleep", seconds=600))
except KeyboardInterrupt:
    print("interrupted")
print(asyncio.run(call("echo", text="and on it goes")).content[0].text)
""",
}
SIDE_BY_SIDE = {
    "blocking": """
import sys
from a2c_smcp.agent import SMCPAgentClient, SyncToolkit

with SMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
    SyncToolkit(agent).call_all((number, "sleep", {"seconds": 600}) for number in "123")
print("it slept")
""",
    "asyncio": """
import asyncio, sys
from a2c_smcp.agent import AsyncSMCPAgentClient, Toolkit

async def main():
    async with AsyncSMCPAgentClient.in_office(sys.argv[1], "office", "program") as agent:
        await Toolkit(agent).call_all((number, "sleep", {"seconds": 600}) for number in "123")
    print("it slept")

asyncio.run(main())
""",
}
ASKED = {
    "blocking": """
import sys, threading
from a2c_smcp.agent import SMCPAgentClient

def wait(question):
    print("asked", flush=True)
    threading.Event().wait()

with SMCPAgentClient.in_office(sys.argv[1], "office", "program", on_question=wait) as agent:
    try:
        agent.call_tool("pc", "ask")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        threading.Event().wait(60)
""",
    "asyncio": """
import asyncio, sys
from a2c_smcp.agent import AsyncSMCPAgentClient

async def wait(question):
    print("asked", flush=True)
    await asyncio.Event().wait()

async def main():
    async with AsyncSMCPAgentClient.in_office(sys.argv[1], "office", "program", on_question=wait) as agent:
        try:
            await agent.call_tool("pc", "ask")
        except asyncio.CancelledError:
            print("interrupted", flush=True)
            await asyncio.sleep(60)

asyncio.run(main())
""",
}
"""Programs that stay in the office after Ctrl-C: a call of an Agent that leaves would be cancelled in any case."""
LEFT_BEHIND = """
import threading
others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
for thread in others:
    thread.join(5)
print("left:", [thread.name for thread in others if thread.is_alive()])
"""
"""Threads end with their connection; not one waits for the end of the process."""


@contextmanager
def running(code: str, server: ServerProcess, folder: Path) -> Generator[LineProcess]:
    """A program of its own."""
    program = folder / "program.py"
    program.write_text(code, "utf-8")
    with closing(LineProcess([sys.executable, "-u", str(program), server.url])) as process:
        yield process


@contextmanager
def office(folder: Path, program: list[str] | None = None) -> Generator[tuple[ServerProcess, Path]]:
    """A Server, and a Computer with the raw server, or another; what that one receives is in the log."""
    log = folder / "log"
    config = write_config(folder, {"it": stdio([*(program or raw()), "--log", str(log)])})
    with (
        server_process() as server,
        computer_process("--config", str(config), "--url", server.url, "--office", "office", "--name", "pc") as pc,
    ):
        pc.wait_for("1 of 1 MCP servers ready")
        pc.wait_for("in office office as pc")
        yield server, log


@pytest.mark.parametrize("form", list(PROGRAMS))
async def test_ctrl_c_ends_the_program_and_the_tool_and_frees_the_seat(form: str, tmp_path: Path) -> None:
    with office(tmp_path) as (server, log), running(PROGRAMS[form], server, tmp_path) as program:
        async with crowd(server) as people:
            successor = await people.newcomer()
            await eventually(lambda: received(log, "tools/call"))
            assert (await successor.join("agent", "successor", "office"))[0] is False
            code = await asyncio.to_thread(program.stop, signal.SIGINT)
            assert await successor.join("agent", "successor", "office") == (True, None)
            await eventually(lambda: received(log, "notifications/cancelled"))
    [call], [cancelled] = received(log, "tools/call"), received(log, "notifications/cancelled")
    assert cancelled["params"]["requestId"] == call["id"]
    assert code == -signal.SIGINT, program.text
    assert program.log[-1].startswith("KeyboardInterrupt"), program.text
    assert not re.search("it slept|Exception ignored|never retrieved|was destroyed", program.text), program.text


@pytest.mark.parametrize("form", list(GOING_ON))
async def test_a_program_that_goes_on_after_ctrl_c_has_its_seat_again_and_no_thread_too_many(
    form: str, tmp_path: Path
) -> None:
    with office(tmp_path) as (server, log), running(GOING_ON[form] + LEFT_BEHIND, server, tmp_path) as program:
        await eventually(lambda: received(log, "tools/call"))
        program.process.send_signal(signal.SIGINT)
        await asyncio.to_thread(program.wait_for, "left:")
        assert await asyncio.to_thread(program.process.wait, PATIENCE) == 0
        assert [line.strip() for line in program.log] == ["interrupted", "and on it goes", "left: []"]
        await eventually(lambda: received(log, "notifications/cancelled"))


@pytest.mark.parametrize("form", list(SIDE_BY_SIDE))
async def test_ctrl_c_ends_all_calls_of_a_models_turn(form: str, tmp_path: Path) -> None:
    with office(tmp_path) as (server, log), running(SIDE_BY_SIDE[form], server, tmp_path) as program:
        await eventually(lambda: len(received(log, "tools/call")) == 3)
        assert await asyncio.to_thread(program.stop, signal.SIGINT) == -signal.SIGINT, program.text
        assert not re.search("it slept|Exception ignored|never retrieved|was destroyed", program.text), program.text
        await eventually(lambda: len(received(log, "notifications/cancelled")) == 3)


@pytest.mark.parametrize("form", list(ASKED))
async def test_ctrl_c_while_a_person_is_asked_cancels_the_call(form: str, tmp_path: Path) -> None:
    asking = [sys.executable, str(SERVERS / "asking.py")]
    with office(tmp_path, asking) as (server, log), running(ASKED[form], server, tmp_path) as program:
        await asyncio.to_thread(program.wait_for, "asked")
        program.process.send_signal(signal.SIGINT)
        await asyncio.to_thread(program.wait_for, "interrupted")
        await eventually(lambda: received(log, "notifications/cancelled"))
