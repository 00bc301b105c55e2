"""The official conformance runner of MCP, with a Computer as the client: each of its client scenarios."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_servers import NPM, ROOT, bundled_node, find_node, missing

RUNNER = NPM / "conformance" / "dist" / "index.js"
CLIENT = f"{sys.executable} -m tests.support.conformance_client"
SECONDS = 60

SCENARIOS = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/cross-app-access-complete-flow",
]
ATTEMPTS = {"sse-retry": 3}
"""A scenario that measures time fails on a machine that is busy with other tests."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the runner. It needs Node.js 22, which is newer than that of many machines."""
    node = bundled_node() or find_node()
    if node is None or not RUNNER.exists():
        missing("Node.js is not installed, or `npm install` in tests/js did not work")
    command, env = [node, str(RUNNER), *arguments], {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS * 2, check=False
    )  # fmt: skip


def failures(folder: Path) -> list[dict[str, Any]]:
    """The checks of a run that failed, or warn."""
    checks = [check for file in folder.rglob("checks.json") for check in json.loads(file.read_text("utf-8"))]
    assert checks
    return [check for check in checks if check["status"] in ("FAILURE", "WARNING")]


def test_no_scenario_is_left_out() -> None:
    listed = [line.split()[1] for line in run("list", "--client").stdout.splitlines() if line.startswith("  - ")]
    assert listed == SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_computer_passes_the_scenario(scenario: str, tmp_path: Path) -> None:
    wanted = ["client", "--command", CLIENT, "--scenario", scenario, "--timeout", str(SECONDS * 1000)]
    found, code, output = list[dict[str, Any]](), -1, ""
    for attempt in range(ATTEMPTS.get(scenario, 1)):
        folder = tmp_path / str(attempt)
        outcome = run(*wanted, "--output-dir", str(folder))
        found, code, output = failures(folder), outcome.returncode, outcome.stderr
        if code == 0:
            break
    assert not found, output
    assert code == 0, output
