"""Bring nginx, Caddy, HAProxy, Redis and Chromium for the tests with them, from Debian's packages.

The first four are unpacked into .venv/programs, without installing them. Chromium needs many other packages, so it is
installed, which only root may do. Where that does not work, those tests are skipped; not in CI, where it has to. A
Chinese font for Chromium is installed as well, for `make screenshots`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PACKAGES = {
    "nginx": ["nginx"],
    "caddy": ["caddy"],
    "haproxy": ["haproxy"],
    "redis-server": ["redis-server", "redis-tools"],
}
"""The programs that are unpacked, and the packages that each of them needs beside libraries."""
INSTALLED = {"chromium": ["chromium"], "chromedriver": ["chromium-driver"]}
"""The programs that are installed, and the packages that each of them needs."""
FONT = ["fontconfig", "fonts-wqy-microhei"]
"""A font with Chinese characters, the smallest of Debian. Without one, a picture of a page in Chinese shows boxes."""
TARGET = Path(__file__).parent.parent / ".venv" / "programs"


def main() -> int:
    """Bring what this machine does not have; the exit code."""
    unpacked = [name for name in PACKAGES if find(name) is None]
    installed = [name for name in INSTALLED if find(name) is None]
    is_complete = all(
        [
            _bring_missing(unpacked, [package for name in unpacked for package in PACKAGES[name]], bring),
            _bring_missing(installed, [package for name in installed for package in INSTALLED[name]], install),
        ]
    )
    if not has_chinese_font():
        _bring_missing(["a Chinese font"], FONT, install)  # tests need none: boxes have the same size
    return 0 if is_complete or not os.environ.get("CI") else 1


def _bring_missing(names: list[str], packages: list[str], method: Callable[[list[str]], None]) -> bool:
    """Bring what is missing; whether it is there now."""
    try:
        if packages:
            method(packages)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{', '.join(names)} cannot be had here ({error}): what needs it is skipped")
        return False
    return True


def has_chinese_font() -> bool:
    """Whether this machine can show Chinese."""
    fc_list = shutil.which("fc-list")
    if fc_list is None:
        return False
    return bool(subprocess.run([fc_list, ":lang=zh"], capture_output=True, check=False).stdout)


def find(name: str) -> str | None:
    """The path of a program, if this machine has it or it was brought."""
    # The wheel of Envoy puts it beside the interpreter, which is not on the PATH of everybody who runs the tests.
    places = [str(TARGET / "usr" / "bin"), str(TARGET / "usr" / "sbin"), str(TARGET.parent / "bin")]
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
    planned = _apt(["install", "--simulate", "--no-install-recommends", *packages])
    # Releases have other names for the same library.
    libraries = re.findall(r"^Inst (lib\S+)", planned, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        _apt(["download", *packages, *libraries], folder)
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", str(package), str(TARGET)], check=True)


def install(packages: list[str]) -> None:
    """Install packages, with what they need.

    Raises:
        OSError, CalledProcessError: that is not possible here.
    """
    if getattr(os, "geteuid", int)() != 0:
        raise PermissionError(f"as root: apt-get install {' '.join(packages)}")
    _apt(["install", "--yes", "--no-install-recommends", *packages])


def _apt(words: list[str], folder: str | None = None) -> str:
    """What apt-get says; with new lists of packages, if it does not work with the old ones."""
    command = ["apt-get", "--quiet", *words]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        subprocess.run(["apt-get", "--quiet", "update"], capture_output=True, check=True)
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
