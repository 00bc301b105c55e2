"""The passwords of `a2c documents --config FILE`: for each pattern of files, placeholders of inputs or variables.

Values come from the environment, the keyring or a person, never from the file or the command line.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from a2c_smcp.cli.errors import fail
from a2c_smcp.computer.config.files import ConfigError, load_config
from a2c_smcp.computer.config.input_sources import InputMissing, Keyring
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import MCPServerInput
from a2c_smcp.computer.config.placeholders import INPUT
from a2c_smcp.utils import jsonc

logger = logging.getLogger(__name__)

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class PasswordRules:
    """Patterns, and where the passwords of the files that match come from."""

    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()
    inputs: tuple[MCPServerInput, ...] = ()
    keyring: str | None = None
    """The scope of the passwords in the keyring; None if it is not used."""

    @classmethod
    def read(cls, path: Path, *, keyring: bool) -> PasswordRules:
        """The rules of a file; ends the command if it is invalid."""
        try:
            inputs = load_config(path, expand=False).inputs
            data, lines = jsonc.parse(path.read_text("utf-8"))
        except OSError as error:
            fail(f"cannot read {path}: {error.strerror or error}", 2)
        except ConfigError as error:
            fail(str(error), 2)
        sources = tuple(_rules(path, cast("dict[str, Any]", data).get("passwords"), lines))
        return cls(sources, tuple(inputs), str(path.resolve()) if keyring else None)

    async def resolve(self, *, may_ask: bool) -> list[tuple[str, list[str]]]:
        """The passwords for each pattern. One that is missing is logged, and the other files are served."""
        from a2c_smcp.cli.computer.questions import Questions

        keyring = Keyring(self.keyring) if self.keyring is not None else None
        resolver = InputResolver(self.inputs, keyring=keyring, prompter=Questions() if may_ask else None)
        try:
            found: list[tuple[str, list[str]]] = []
            for pattern, sources in self.sources:
                values = [await _value(resolver, source) for source in sources]
                found.append((pattern, [value for value in values if value]))
            return found
        finally:
            await resolver.aclose()


def _rules(path: Path, given: object, lines: dict[jsonc.Path, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if given is None:
        return
    if not isinstance(given, dict):
        fail(f"{path}: passwords: an object is expected: a pattern of files, and a placeholder for its password", 2)
    for pattern, value in cast("dict[str, object]", given).items():
        sources = cast("list[object]", value) if isinstance(value, list) else [value]
        for source in sources:
            # A password in the file would be in backups and repositories. The value is not repeated here.
            if not isinstance(source, str) or not (INPUT.fullmatch(source) or _VARIABLE.fullmatch(source)):
                line = lines.get(("passwords", pattern))
                fail(
                    f"{path}:{f' line {line}:' if line else ''} passwords.{pattern}: must be a placeholder, "
                    "${input:ID} or ${env:NAME}, or a list of them",
                    2,
                )
        yield pattern, tuple(map(str, sources))


async def _value(resolver: InputResolver, source: str) -> str | None:
    """The value of a placeholder."""
    try:
        if (found := INPUT.fullmatch(source)) is not None:
            return str(await resolver.resolve(found[1]))
    except InputMissing as error:
        logger.warning("a password for documents is missing: %s", error)
        return None
    name = source.removeprefix("${").removeprefix("env:").removesuffix("}")
    if not os.environ.get(name):
        logger.warning("a password for documents is missing: the variable %s is not set", name)
    return os.environ.get(name)
