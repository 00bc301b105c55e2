"""How long a program waits for its imports, beyond what the interpreter itself takes to start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.support import Row

TARGET = 300.0
"""Milliseconds."""

BARE = (sys.executable, "-c", "pass")
COMMANDS: Mapping[str, Sequence[str]] = {
    "import a2c_smcp.agent": (sys.executable, "-c", "import a2c_smcp.agent"),
    "import AsyncSMCPAgentClient": (sys.executable, "-c", "from a2c_smcp.agent import AsyncSMCPAgentClient"),
    "import SMCPAgentClient": (sys.executable, "-c", "from a2c_smcp.agent import SMCPAgentClient"),
    "a2c --help": (str(Path(sys.executable).parent / "a2c"), "--help"),
}


def measure(rounds: int) -> list[Row]:
    """In turns; the best of each, for whatever else the machine does only ever adds."""
    bare: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as cache:
        for command in COMMANDS.values():
            _run(command, cache)  # compiles everything
        for _ in range(rounds):
            bare.append(_run(BARE, cache))
            for name, command in COMMANDS.items():
                found[name].append(_run(command, cache))
    return [_row(name, min(bare), min(times)) for name, times in found.items()]


def _run(command: Sequence[str], cache: str) -> float:
    """Milliseconds from start to end. What is installed is compiled, whether or not what is developed here may be."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    began = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def _row(name: str, bare: float, ours: float) -> Row:
    return Row(f"{name} (ratio: ms more)", f"{bare:.0f} ms", f"{ours:.0f} ms", ours - bare, TARGET)
