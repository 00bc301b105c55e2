"""The official JavaScript client of Socket.IO, which plays the scenario of `tests/js`."""

from __future__ import annotations

import os
import subprocess

from tests.support.mcp_servers import ROOT, find_node, missing

FOLDER = ROOT / "tests" / "js"
TRANSPORTS = ["websocket", "polling", "polling,websocket"]


def play(url: str, transport: str, **environment: str) -> None:
    """Play the scenario in Node.js."""
    node = find_node()
    if node is None or not (FOLDER / "node_modules").exists():
        missing("Node.js is not installed, or `npm install` in tests/js did not work")
    scenario = [node, "scenario.js", url, transport, "js-key"]
    outcome = subprocess.run(
        scenario, cwd=FOLDER, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == "all well\n"
