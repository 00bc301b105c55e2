"""The folders where a person's settings, state and caches are kept."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SERVICES = Path("/run/a2c-computer")
"""What our unit for systemd runs has a folder here, in place of that of its user: `deploy/systemd`."""


def by_system(*, linux: T, macos: T, windows: T, system: str = sys.platform) -> T:
    """The value for this system; `linux` is also that of every other Unix."""
    return {"darwin": macos, "win32": windows}.get(system, linux)


def settings_folder(home: Path, system: str = sys.platform) -> Path:
    """Where the applications of this system keep their settings."""
    return by_system(
        linux=_from_environment("XDG_CONFIG_HOME", home / ".config"),
        macos=home / "Library" / "Application Support",
        windows=_from_environment("APPDATA", home / "AppData" / "Roaming"),
        system=system,
    )


def state_folder(system: str = sys.platform) -> Path:
    """Where `a2c` keeps its state, such as the history of the prompt."""
    state = _from_environment("XDG_STATE_HOME", Path.home() / ".local" / "state")
    return by_system(linux=state, macos=state, windows=_local_data(), system=system) / "a2c"


def cache_folder(system: str = sys.platform) -> Path:
    """Where `a2c` keeps data that it can generate again."""
    cache = _from_environment("XDG_CACHE_HOME", Path.home() / ".cache")
    windows = _from_environment("XDG_CACHE_HOME", _local_data())
    return by_system(linux=cache, macos=cache, windows=windows, system=system) / "a2c"


def runtime_folder(system: str = sys.platform) -> Path:
    """Where programs of this user find each other while they run. Nobody else may enter it: see `own_folder`.

    `A2C_RUNTIME_DIR` sets it: a service often has other variables than the shell of its owner.
    """
    if (given := given_runtime_folder()) is not None:
        return given
    if system == "win32":
        return _local_data() / "a2c" / "run"
    if session := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(session) / "a2c"
    # Short, because the address of a socket has at most about a hundred bytes.
    user = 0 if sys.platform == "win32" else os.getuid()
    return Path(tempfile.gettempdir()) / f"a2c-{user}"


def given_runtime_folder() -> Path | None:
    """The folder that is set in place of the usual one; None if none is."""
    given = os.environ.get("A2C_RUNTIME_DIR")
    return Path(given) if given else None


def _local_data() -> Path:
    """The folder for data of this machine only."""
    # Not `APPDATA`, which Windows may copy to the other machines of the same user.
    return _from_environment("LOCALAPPDATA", Path.home() / "AppData" / "Local")


def _from_environment(name: str, otherwise: Path) -> Path:
    return Path(os.environ.get(name) or otherwise)  # an empty variable counts as unset, as XDG demands
