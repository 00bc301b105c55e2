"""The official conformance runner of MCP, in two versions: the second one has scenarios for 2026-07-28."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.support.mcp_servers import NPM, ROOT, bundled_node, find_node, missing

RUNNER = NPM / "conformance"
RUNNER_2026 = ROOT / "tests" / "js" / "node_modules" / "conformance-2026"

Outcome = dict[str, list[Any]]
"""For each scenario, the checks that failed or warn."""


async def run(runner: Path, folder: Path, *arguments: str) -> tuple[Outcome, str]:
    """Run the runner; the outcome, and what it printed.

    It needs Node.js 22, which is newer than that of many machines.
    """
    node, script = bundled_node() or find_node(), runner / "dist" / "index.js"
    if node is None or not script.exists():
        missing("Node.js is not installed, or `npm install` in tests/js did not work")
    process = await asyncio.create_subprocess_exec(
        node, str(script), *arguments, "--output-dir", str(folder),
        cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return _outcome(folder), output.decode()


def _outcome(folder: Path) -> Outcome:
    # The time is at the end of the names of the folders.
    found: Outcome = {}
    for file in folder.rglob("checks.json"):
        checks = json.loads(file.read_text("utf-8"))
        assert checks
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.relative_to(folder).as_posix())
        found[scenario] = [check for check in checks if check["status"] in ("FAILURE", "WARNING")]
    return found
