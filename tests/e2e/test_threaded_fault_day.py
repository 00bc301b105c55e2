"""The fault day of a Server in threads: gunicorn is killed under load, and every call is answered meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import httpx
import psutil
import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from tests.support.hosting import hosting, raw
from tests.support.load import CALLERS, COMPUTER, KEY, OFFICE, Load
from tests.support.process import LineProcess, free_port
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio

PROGRAM = f"""
from a2c_smcp.server import DefaultSyncAuthenticationProvider
from a2c_smcp.server.app import create_wsgi_app

wsgi = create_wsgi_app(DefaultSyncAuthenticationProvider({KEY!r}))
"""


@contextlib.contextmanager
def gunicorn(folder: Path, port: int) -> Generator[None]:
    """The Server; at the end it is killed, with its worker."""
    command = [sys.executable, "-m", "gunicorn", "--threads", "20", "--bind", f"127.0.0.1:{port}", "program:wsgi"]
    with contextlib.closing(LineProcess(command, cwd=folder, env={"PYTHONPATH": str(folder)})) as process:
        process.wait_for("Booting worker")
        try:
            yield
        finally:
            process.process.send_signal(signal.SIGSTOP)  # or it may start another worker
            for child in psutil.Process(process.process.pid).children(recursive=True):
                os.kill(child.pid, signal.SIGKILL)
            process.process.kill()


@posix_only
async def test_a_server_in_threads_that_is_killed_is_come_back_to(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with contextlib.AsyncExitStack() as stack:
        first = contextlib.ExitStack()
        await asyncio.to_thread(first.enter_context, gunicorn(tmp_path, port))
        computer = await stack.enter_async_context(hosting(raw()))
        computer.name = COMPUTER
        await _reached(url)
        await stack.enter_async_context(SMCPComputerClient.in_office(computer, url, OFFICE, api_key=KEY))
        agent = await stack.enter_async_context(AsyncSMCPAgentClient.in_office(url, OFFICE, "agent", api_key=KEY))
        load = Load(agent)
        async with asyncio.TaskGroup() as callers:
            tasks = [callers.create_task(load.call()) for _ in range(CALLERS)]
            await load.until_calls_succeed()
            await asyncio.to_thread(first.close)
            with gunicorn(tmp_path, port):
                await load.until_calls_succeed()
                for task in tasks:
                    task.cancel()
    assert load.unanswered == []


async def _reached(url: str) -> None:
    """Wait until the worker answers."""
    async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=8)) as http:
        assert (await http.get(f"{url}/healthz")).status_code == 200
