"""The skills of a Computer: those in a folder of its owner's, and those of its MCP servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from a2c_smcp.computer.offer.asking import SECONDS, Asking
from a2c_smcp.computer.offer.blobs import Blobs
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.skills.content import Content, answer_with
from a2c_smcp.computer.offer.skills.folder import SkillFolder
from a2c_smcp.computer.offer.skills.skill import SKILL_FILE, check_name, no_skill
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.errors import TimedOutError
from a2c_smcp.smcp import GetSkillRet, SkillReference
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Seconds between two looks at the folder."""

T = TypeVar("T")


class Skills:
    """Lists skills and reads their files. `on_change` is called when the folder has other skills than before."""

    def __init__(self, folder: Path | None, asking: Asking, blobs: Blobs, on_change: Callable[[], None]) -> None:
        self._folder = SkillFolder(folder) if folder is not None else None
        self._asking = asking
        self._blobs = blobs
        self._on_change = on_change
        self._watching: asyncio.Task[None] | None = None

    @property
    def problems(self) -> list[str]:
        """Messages for the owner about the folder; those about an MCP server are in its status."""
        return self._folder.problems if self._folder is not None else []

    def start(self) -> None:
        """Watch the folder."""
        if self._folder is not None and self._watching is None:
            self._watching = asyncio.create_task(self._watch(self._folder), name="watch the skills")

    async def aclose(self) -> None:
        """Stop watching."""
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.wait((watching,))

    async def references(self) -> list[SkillReference]:
        """All skills: those of the owner first, then those of the MCP servers in their order.

        Raises:
            TimedOutError: the folder cannot be read in time.
        """
        served = list(self._served())
        mine = [_in_time(self._folder.references)] if self._folder is not None else []
        found = await asyncio.gather(*mine, *(view.skills.references(server_id) for server_id, view in served))
        return [reference for each in found for reference in each]

    async def read(self, name: str, rel_path: str | None, caller: Caller, req_id: str) -> GetSkillRet:
        """A file of a skill; without `rel_path`, its `SKILL.md` after the front matter.

        Raises:
            SkillNameError: this cannot be the name of a skill.
            MCPServerNotFoundError: there is no such skill.
            SkillFileError: the file does not exist, is not part of the skill, or is too large.
            SMCPError: the MCP server failed, or did not answer in time.
        """
        check_name(name)
        content = await self._content(name, SKILL_FILE if rel_path is None else rel_path)
        return await answer_with(content, self._blobs, caller, req_id)

    async def _content(self, name: str, rel_path: str) -> Content:
        source, _, rest = name.partition(":")
        if not rest and self._folder is not None:
            return await _in_time(self._folder.read, name, rel_path)
        server_id, _, skill = rest.partition(":")
        view = dict(self._served()).get(server_id) if source == "mcp" else None
        if view is None:
            raise no_skill(name)
        return await self._asking.answer(view.server, view.skills.read(name, skill, rel_path))

    def _served(self) -> Iterator[tuple[str, ResourceView]]:
        """The MCP servers, each with its id. Of two with the same id, the first counts."""
        seen: set[str] = set()
        configs = {config.name: config for config in self._asking.manager.configs}
        for view in self._asking.manager.views:
            config = configs.get(view.server)
            if config is None:
                continue
            if config.identity not in seen:
                seen.add(config.identity)
                yield config.identity, view

    async def _watch(self, folder: SkillFolder) -> None:
        before: dict[str, tuple[int, ...]] | None = None
        while True:
            try:
                found = await in_thread(folder.look)
            except Exception:
                logger.exception("the folder for skills cannot be watched")
                return
            if before is not None and found != before:
                self._on_change()
            before = found
            await asyncio.sleep(LOOK_SECONDS)


async def _in_time(read: Callable[..., T], *arguments: str) -> T:
    """Run work with files in a thread: the folder may be on a network that does not answer."""
    try:
        async with asyncio.timeout(SECONDS):
            return await in_thread(read, *arguments)
    except TimeoutError:
        raise TimedOutError("the folder for skills does not answer") from None
