"""Placeholders that are filled in when a configuration is read: environment variables and folders."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from a2c_smcp.computer.config.placeholders import input_ids, map_strings
from a2c_smcp.computer.config.secrets import looks_secret
from a2c_smcp.utils import jsonc

_VARIABLE = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:[^{}]|\$\{[^{}]*\})*))?\}")
_UNKNOWN = re.compile(r"\$\{(?:file|command|config|workspaceFolder):[^-{}][^{}]*\}")

PYTHON = "A2C_PYTHON"
"""A variable that is always set: the Python that runs this program, for servers of the same installation."""


class Variables:
    """The values of `${…}` in a file."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._folder = folder
        # Editors keep the file in a folder of their own inside the workspace.
        self.workspace = folder.parent if folder.name in (".vscode", ".cursor") else folder
        """The value of `${workspaceFolder}`."""
        self._known = {
            PYTHON: sys.executable,
            "userHome": str(Path.home()),  # these four are VS Code's and Cursor's
            "workspaceFolder": str(self.workspace),
            "workspaceFolderBasename": self.workspace.name,
            "pathSeparator": os.sep,
            **environment,
        }

    def file(self, name: str) -> Path:
        """The path of a file that is named in the configuration."""
        for folder in ("workspaceFolder", "userHome"):
            name = name.replace(f"${{{folder}}}", self._known[folder])
        return self._folder / Path(name).expanduser()

    def fill(
        self, path: jsonc.Path, written: Mapping[str, Any], secrets: list[str]
    ) -> tuple[dict[str, Any], list[tuple[jsonc.Path, str]]]:
        """The values at a path, filled in, and the places and names of variables that are not set. Values that look
        secret are added to `secrets`."""
        unset: list[tuple[jsonc.Path, str]] = []
        filled = {key: self._fill((*path, key), key, value, secrets, unset) for key, value in written.items()}
        return filled, unset

    def _fill(
        self, path: jsonc.Path, key: str, value: Any, secrets: list[str], unset: list[tuple[jsonc.Path, str]]
    ) -> Any:
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value).items()
            return {name: self._fill((*path, name), name, item, secrets, unset) for name, item in items}

        def in_text(text: str) -> str:
            def one(found: re.Match[str]) -> str:
                name, default = found["name"], found["default"]
                filled = self._known.get(name)
                if filled is None and default is None:
                    unset.append((path, name))
                    return found[0]
                # As in a shell, `${NAME:-default}` also replaces an empty value, and a default may hold variables
                # itself.
                filled = (filled or in_text(default)) if default is not None else filled
                # The placeholder of an input is no secret. Its value is recognized when the input is resolved.
                if filled and not input_ids(filled) and (looks_secret(name) or looks_secret(key)):
                    secrets.append(filled)
                return filled or ""

            return _VARIABLE.sub(one, text)

        return map_strings(value, in_text)


def unknown_placeholders(value: Any) -> list[str]:
    """Placeholders of other hosts, such as `${file:…}`, which this program does not fill in."""
    return list(dict.fromkeys(_UNKNOWN.findall(json.dumps(value, default=str))))


def read_env_file(file: Path) -> dict[str, str]:
    """The variables of a file with a `NAME=value` in each line.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read.
    """
    found: dict[str, str] = {}
    for line in file.read_text("utf-8").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and name and not name.startswith("#"):
            value = value.strip()
            found[name.strip()] = value[1:-1] if value[:1] == value[-1:] and value[:1] in ("'", '"') else value
    return found
