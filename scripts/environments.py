"""Install libraries for tests in environments of their own: each is of another version than ours, or may need one.

Says so and goes on where it cannot: the tests that need one skip, except in CI.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent.parent / ".venv"
SDK_VERSIONS = ("0.1.3", "0.1.6", "0.2.2", "0.3.3", "0.4.2")
"""The releases of the official SDK that ours is tested with: the first and the last of each dialect in use."""
BESIDE_SDK = ("requests", "websocket-client", "pyyaml", "uvicorn", "werkzeug", "pydantic<2.13")
"""What the official SDK needs in one of its seats, and not every release declares; `mcp` 1.15 of 0.1.3 works with no
later pydantic."""
ENVIRONMENTS = {
    "old-mcp": ("mcp==1.30.0",),  # the last 1.x, for servers and clients that are written for it
    "fastmcp": ("fastmcp-slim[client]==4.1.2",),  # FastMCP's client without its server
    **{f"a2c-smcp-{version}": (f"a2c-smcp[cli]=={version}", *BESIDE_SDK) for version in SDK_VERSIONS},
}
"""The packages of each environment in `.venv`. The first one gives it its name."""
AT_ONCE = 3
"""How many are made side by side: an installation waits for the network, then unpacks on a processor."""


def main() -> int:
    """Install once; a second run finds everything in place."""
    missing = [name for name, packages in ENVIRONMENTS.items() if not _in_place(name, packages)]
    with ThreadPoolExecutor(AT_ONCE) as installers:
        outcomes = installers.map(_install, missing, [ENVIRONMENTS[name] for name in missing])
        failed = [name for name, is_installed in zip(missing, outcomes, strict=True) if not is_installed]
    for name in failed:
        problem = f"{ENVIRONMENTS[name][0]} cannot be installed in {FOLDER / name}"
        print(f"{problem}: the tests that need it will be skipped", file=sys.stderr)
    return 1 if failed and os.environ.get("CI") else 0


def python_of(name: str) -> Path:
    """The interpreter of an environment, which may not exist."""
    return FOLDER / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _install(name: str, packages: tuple[str, ...]) -> bool:
    make = [sys.executable, "-m", "venv", "--clear", str(FOLDER / name)]
    install = [str(python_of(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    if not (_run(make) and _run(install)):
        return False
    _note(name).write_text("\n".join(packages), "utf-8")
    return True


def _in_place(name: str, packages: tuple[str, ...]) -> bool:
    # The interpreter is looked at too: it is a link to one that may have gone.
    note = _note(name)
    return python_of(name).exists() and note.exists() and note.read_text("utf-8") == "\n".join(packages)


def _note(name: str) -> Path:
    """Where an environment says what was installed into it."""
    return FOLDER / name / "installed.txt"


def _run(command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, timeout=300, capture_output=True).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    sys.exit(main())
