"""Mistakes in the profiles of MCP hosts, with their places. The Server does not know what a profile is; its gateway
does."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from a2c_smcp.gateway.profile import InvalidProfile, Profile
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils import jsonc
from a2c_smcp.utils.problems import Problem, problem_at
from a2c_smcp.utils.toml_lines import lines_of

SETTING = "mcp_profiles"


def problems_in_profiles(settings: ServerSettings, config: Path | None) -> Iterator[tuple[Path | None, Problem]]:
    """Each mistake, and the file that has it; None for the environment. `config` is the file of the settings.

    Raises:
        ValueError: the file of the profiles is not TOML or JSON.
        OSError: it cannot be read.
    """
    place, prefix, lines = config, (SETTING,), dict[tuple[str | int, ...], int]()
    profiles = settings.profiles()
    if isinstance(settings.mcp_profiles, Path):
        place, prefix = settings.mcp_profiles, ()
        text = place.read_text("utf-8")
        lines = jsonc.parse(text)[1] if place.suffix == ".json" else lines_of(text)
    elif config is not None:
        text = config.read_text("utf-8")
        if SETTING in tomllib.loads(text):
            lines = lines_of(text)
    if not lines:
        place, prefix = None, ("A2C_MCP_PROFILES",)
    for name, fields in profiles.items():
        path = (*prefix, name)
        if not isinstance(fields, Mapping):
            yield place, problem_at(path, "must be a table", lines)
            continue
        # A field at a time, so that each mistake has its line.
        for field, value in cast("Mapping[str, Any]", fields).items():
            try:
                Profile.of({field: value})
            except InvalidProfile as problem:
                yield place, problem_at((*path, field), str(problem).removeprefix(f"{field}: "), lines)
