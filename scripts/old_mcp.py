"""Install the last `mcp` 1.x in an environment of its own, for the servers in tests that are written for it.

Says so and goes on where it cannot: the tests that need it skip, except in CI.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

VERSION = "1.30.0"
FOLDER = Path(__file__).parent.parent / ".venv" / "old-mcp"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def main() -> int:
    """Install once; a second run finds everything in place."""
    if _in_place():
        return 0
    make = [sys.executable, "-m", "venv", "--clear", str(FOLDER)]
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"mcp=={VERSION}"]
    if all(_run(command) for command in (make, install)) and _in_place():
        return 0
    print(f"mcp {VERSION} cannot be installed in {FOLDER}: the tests of old servers will be skipped", file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


def _in_place() -> bool:
    # The interpreter is looked at too: it is a link to one that may have gone.
    return PYTHON.exists() and any(FOLDER.glob(f"[Ll]ib/**/site-packages/mcp-{VERSION}.dist-info/RECORD"))


def _run(command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, timeout=300, capture_output=True).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    sys.exit(main())
