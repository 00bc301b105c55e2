"""Bring nginx and Caddy for the tests behind them, into .venv/proxies: from Debian's packages, without installing them.

Where that does not work, those tests are skipped; not in CI, where it has to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROXIES = ("nginx", "caddy")
TARGET = Path(__file__).parent.parent / ".venv" / "proxies"


def main() -> int:
    """Bring what this machine does not have; the exit code."""
    missing = [name for name in PROXIES if shutil.which(name) is None]
    try:
        if missing:
            bring(missing)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{' and '.join(missing)} cannot be had here ({error}): the tests behind them are skipped")
        return 1 if os.environ.get("CI") else 0
    return 0


def bring(names: list[str]) -> None:
    """Download the packages and unpack them.

    Raises:
        OSError, CalledProcessError: that is not possible here.
    """
    with tempfile.TemporaryDirectory() as folder:
        download = ["apt-get", "--quiet", "download", *names]
        if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
            subprocess.run(["apt-get", "--quiet", "update"], capture_output=True, check=True)
            subprocess.run(download, cwd=folder, capture_output=True, check=True)
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(TARGET)], check=True)


if __name__ == "__main__":
    sys.exit(main())
