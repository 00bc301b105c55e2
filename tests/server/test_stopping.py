"""A Server inside another application, in a process of its own: what is running when a signal comes, ends well."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2c_smcp.server import create_app
from tests.support.peer import Peer, crowd, tool_call
from tests.support.process import LineProcess, free_port
from tests.support.running import Running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

PROGRAM = """
import os, sys
from fastapi import FastAPI
from a2c_smcp.server import create_app, run

smcp = create_app(grace=float(os.environ["GRACE"]), ping_interval=3_600)
app = FastAPI(lifespan=smcp.lifespan)
app.mount("/", smcp)
alone = FastAPI()
alone.mount("/", smcp)

if __name__ == "__main__":
    run(smcp, inside={"mounted": app, "forgetful": alone, "bare": None}[sys.argv[1]], port=int(sys.argv[2]))
"""
UVICORN = ["-m", "uvicorn", "--port", "{port}"]
WAYS = {
    "run": ["program.py", "mounted", "{port}"],
    "run, and no lifespan": ["program.py", "forgetful", "{port}"],
    "run, not mounted": ["program.py", "bare", "{port}"],
    "uvicorn": [*UVICORN, "program:app"],
    "uvicorn, not mounted": [*UVICORN, "program:smcp"],
}


@dataclass
class Scene:
    """A Server whose Agent has a WebSocket, and whose Computer polls and answers when it may."""

    process: LineProcess
    url: str
    agent: Peer
    computer: Peer
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, event: str, data: Any) -> str:
        await self.may_answer.wait()
        return "done"

    async def stop(self, how: int = signal.SIGINT, code: int = 0) -> None:
        """Send a signal and wait for the end."""
        assert await asyncio.to_thread(self.process.stop, how) == code, self.process.text
        assert "Traceback" not in self.process.text


@contextlib.contextmanager
def program(folder: Path, way: str, grace: float) -> Generator[tuple[LineProcess, str]]:
    """The program, served in one of the ways; its address."""
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    port = str(free_port())
    command = [sys.executable, *(part.format(port=port) for part in WAYS[way])]
    with contextlib.closing(LineProcess(command, env={"GRACE": str(grace)}, cwd=folder)) as process:
        process.wait_for("Uvicorn running")
        yield process, f"http://127.0.0.1:{port}"


@asynccontextmanager
async def scene(folder: Path, way: str, grace: float = 3_600) -> AsyncGenerator[Scene]:
    with program(folder, way, grace) as (process, url):
        server = Running("async", url, create_app())
        async with crowd(server) as people, crowd(server, "polling") as pollers:
            agent = await people.member("agent", "agent", "office")
            computer = await pollers.member("computer", "pc", "office")
            await agent.hear("notify:enter_office")
            here = Scene(process, url, agent, computer)
            computer.answer = here.answer
            yield here
            here.may_answer.set()


@pytest.mark.parametrize("way", WAYS)
async def test_a_running_call_ends_and_nobody_waits_for_clients_that_are_idle(way: str, tmp_path: Path) -> None:
    async with scene(tmp_path, way) as here, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(here.agent.ask("client:tool_call", tool_call()))
        await here.computer.be_asked("client:tool_call")
        stopped = tasks.create_task(here.stop())
        await until_draining(here)
        here.may_answer.set()
        assert await call == "done"
        await stopped  # and not when the poll of the Computer ends, or the grace
        async with asyncio.timeout(PATIENCE):
            await here.agent.is_gone.wait()
            await here.computer.is_gone.wait()


async def until_draining(here: Scene) -> None:
    """Wait until newcomers are refused, by the Server or because nobody listens any more."""
    async with asyncio.timeout(PATIENCE):
        async with httpx.AsyncClient() as http:
            while True:
                try:
                    if (await http.get(f"{here.url}/readyz")).status_code == 503:
                        return
                except httpx.TransportError:
                    return


@pytest.mark.parametrize(("way", "code"), [("run", 0), ("uvicorn", -signal.SIGTERM)])
async def test_a_call_that_does_not_end_is_ended_after_the_grace(way: str, code: int, tmp_path: Path) -> None:
    async with scene(tmp_path, way, grace=0.2) as here, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(here.agent.ask("client:tool_call", tool_call()))
        await here.computer.be_asked("client:tool_call")
        await here.stop(signal.SIGTERM, code)
        assert (await call)["error"]["code"] == 500


@pytest.mark.parametrize("way", ["run", "uvicorn"])
async def test_a_second_ctrl_c_does_not_wait(way: str, tmp_path: Path) -> None:
    async with scene(tmp_path, way, grace=3600) as here:
        await here.agent.tell("client:tool_call", tool_call())
        await here.computer.be_asked("client:tool_call")
        here.process.process.send_signal(signal.SIGINT)
        await until_draining(here)
        assert await asyncio.to_thread(here.process.stop, signal.SIGINT) == 0, here.process.text
