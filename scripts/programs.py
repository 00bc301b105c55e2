"""Bring nginx, Caddy and Redis for the tests with them, into .venv/programs: from Debian's packages, without installing
them.

Where that does not work, those tests are skipped; not in CI, where it has to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = {
    "nginx": ["nginx"],
    "caddy": ["caddy"],
    "redis-server": ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"],
}
"""The programs, and the packages that each of them needs."""
TARGET = Path(__file__).parent.parent / ".venv" / "programs"


def main() -> int:
    """Bring what this machine does not have; the exit code."""
    missing = [name for name in PACKAGES if find(name) is None]
    try:
        if missing:
            bring([package for name in missing for package in PACKAGES[name]])
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{', '.join(missing)} cannot be had here ({error}): the tests with them are skipped")
        return 1 if os.environ.get("CI") else 0
    return 0


def find(name: str) -> str | None:
    """The path of a program, if this machine has it or it was brought."""
    places = [str(TARGET / "usr" / folder) for folder in ("bin", "sbin")]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))


def environment() -> dict[str, str]:
    """The environment in which brought programs find their libraries."""
    libraries = {str(library.parent) for library in TARGET.glob("usr/lib/*/*.so*")}
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(sorted(libraries))} if libraries else dict(os.environ)


def bring(packages: list[str]) -> None:
    """Download packages and unpack them.

    Raises:
        OSError, CalledProcessError: that is not possible here.
    """
    with tempfile.TemporaryDirectory() as folder:
        download = ["apt-get", "--quiet", "download", *packages]
        if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
            subprocess.run(["apt-get", "--quiet", "update"], capture_output=True, check=True)
            subprocess.run(download, cwd=folder, capture_output=True, check=True)
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(TARGET)], check=True)


if __name__ == "__main__":
    sys.exit(main())
