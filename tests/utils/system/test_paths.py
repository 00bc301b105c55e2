"""The folders of three systems, whichever one the test runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2c_smcp.utils.system.paths import cache_folder, settings_folder, state_folder

VARIABLES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_folders_without_variables(home: Path) -> None:
    assert settings_folder(home, "linux") == home / ".config"
    assert settings_folder(home, "darwin") == home / "Library" / "Application Support"
    assert settings_folder(home, "win32") == home / "AppData" / "Roaming"
    assert state_folder("linux") == state_folder("darwin") == home / ".local" / "state" / "a2c"
    assert cache_folder("linux") == cache_folder("darwin") == home / ".cache" / "a2c"
    assert state_folder("win32") == cache_folder("win32") == home / "AppData" / "Local" / "a2c"


def test_variables_of_the_system_decide(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, str(home / name))
    assert settings_folder(home, "linux") == home / "XDG_CONFIG_HOME"
    assert settings_folder(home, "darwin") == home / "Library" / "Application Support"
    assert settings_folder(home, "win32") == home / "APPDATA"
    assert state_folder("linux") == home / "XDG_STATE_HOME" / "a2c"
    assert state_folder("win32") == home / "LOCALAPPDATA" / "a2c"
    assert cache_folder("win32") == home / "XDG_CACHE_HOME" / "a2c", "it is what the documentation names"


def test_an_empty_variable_says_nothing(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")
    assert state_folder("linux") == home / ".local" / "state" / "a2c"
