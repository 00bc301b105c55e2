"""Reloads the configuration of a running Computer: completely, or not at all if the file has mistakes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import ConfigError, LoadedConfig, load_config
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import NotFoundError
from a2c_smcp.utils.problems import Problem

logger = logging.getLogger("a2c.computer")

LOOK_SECONDS = 1.0
"""Seconds between two looks at a watched file."""


class ReloadError(Exception):
    """The file is invalid or cannot be read."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a reload."""

    added: Sequence[str]
    changed: Sequence[str]
    removed: Sequence[str]
    inputs: Sequence[str]
    """Inputs whose definition was added, changed or removed."""
    warnings: Sequence[Problem]

    def __str__(self) -> str:
        kinds = {"added": self.added, "changed": self.changed, "removed": self.removed, "inputs changed": self.inputs}
        return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names) or "nothing changed"


class Reloader:
    """Reads the file of a Computer again. Servers that its owner added at the prompt stay."""

    def __init__(self, path: Path, loaded: LoadedConfig, computer: Computer) -> None:
        self.path = path
        self._computer = computer
        # The names that come from the file. Only these may be removed when the file does not have them.
        self._servers = {server.name for server in loaded.servers}
        self._inputs = {wanted.id for wanted in loaded.inputs}
        self._turn = asyncio.Lock()

    async def reload(self) -> Changes:
        """Apply the current contents of the file. Returns when new and changed servers have started or failed.

        Raises:
            ReloadError: the file has mistakes or cannot be read. Nothing is changed.
        """
        # One reload at a time: SIGHUP, the watched file and the prompt may ask for one at the same moment.
        async with self._turn:
            try:
                loaded = await asyncio.to_thread(load_config, self.path)
            except ConfigError as error:
                raise ReloadError(f"{self.path} has mistakes, nothing is changed", error.problems) from None
            except OSError as error:
                raise ReloadError(f"cannot read {self.path}, nothing is changed: {error.strerror or error}") from None
            changes = self._compare(loaded)
            logger.info("reloaded %s: %s", self.path, changes)
            await self._apply(loaded, changes)
            log_ready(self._computer)
            return changes

    async def watch(self) -> None:
        """Reload whenever the file changes, until cancelled."""
        seen = _stamp(self.path)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            stamp = _stamp(self.path)
            if stamp in (seen, None):  # an editor that replaces the file may remove it for a moment
                continue
            seen = stamp  # also if the reload fails: a mistake is logged once, not every second
            await self.reload_or_log()

    async def reload_or_log(self) -> None:
        """Reload, and log each mistake."""
        try:
            changes = await self.reload()
        except ReloadError as error:
            for problem in error.problems:
                logger.error("%s: %s", self.path, problem)
            logger.error("%s", error)
            return
        for warning in changes.warnings:
            logger.warning("%s: %s", self.path, warning)

    def _compare(self, loaded: LoadedConfig) -> Changes:
        running = {server.name: server for server in self._computer.mcp_servers}
        new = {server.name: server for server in loaded.servers}
        inputs = {wanted.id: wanted for wanted in self._computer.inputs if wanted.id in self._inputs}
        wanted = {wanted.id: wanted for wanted in loaded.inputs}
        return Changes(
            added=[name for name in new if name not in running],
            changed=[name for name, server in new.items() if name in running and _differ(running[name], server)],
            removed=[name for name in running if name in self._servers and name not in new],
            inputs=[name for name in {**inputs, **wanted} if inputs.get(name) != wanted.get(name)],
            warnings=loaded.warnings,
        )

    async def _apply(self, loaded: LoadedConfig, changes: Changes) -> None:
        if changes.inputs:
            ours = self._inputs | {wanted.id for wanted in loaded.inputs}
            others = [wanted for wanted in self._computer.inputs if wanted.id not in ours]
            self._computer.update_inputs([*loaded.inputs, *others])
        # Before the servers change: if that is cancelled half-way, the next reload must know all names of this file.
        self._servers = {server.name for server in loaded.servers}
        self._inputs = {wanted.id for wanted in loaded.inputs}
        await asyncio.gather(
            *map(self._remove, changes.removed),
            *(self._computer.aadd_or_aupdate_server(server) for server in loaded.servers),
        )

    async def _remove(self, name: str) -> None:
        with contextlib.suppress(NotFoundError):  # its owner was faster, at the prompt
            await self._computer.aremove_server(name)


def log_ready(computer: Computer) -> None:
    """Log how many servers are ready, and the number of their tools."""
    statuses = computer.status
    ready = [status for status in statuses if status.state is ServerState.READY]
    tools = sum(status.tools for status in ready)
    logger.info("%d of %d MCP servers ready, %d tools", len(ready), len(statuses), tools)


def _differ(old: MCPServerConfig, new: MCPServerConfig) -> bool:
    """Whether two configurations differ, apart from their place in the file."""
    # `==` would also compare the origin, and a line that is inserted above a server must not restart it. `parameters`
    # has the values of variables, which may change while the text stays the same.
    return type(old) is not type(new) or old.model_dump() != new.model_dump() or old.parameters() != new.parameters()


def _stamp(path: Path) -> tuple[int, ...] | None:
    # Size and inode as well: some file systems have times of one or two seconds, and a file that is moved into place
    # may be as old as the one before.
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
