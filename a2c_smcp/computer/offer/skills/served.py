"""The skills that one connected MCP server has as resources: `skill://…/NAME/SKILL.md`, and what is beside it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.skills.content import Content, content_of
from a2c_smcp.computer.offer.skills.front_matter import FrontMatterError
from a2c_smcp.computer.offer.skills.skill import (
    MAX_SKILL_BYTES,
    SKILL_FILE,
    Skill,
    check_path,
    file_error,
    no_skill,
    read_skill,
)
from a2c_smcp.errors import TimedOutError
from a2c_smcp.smcp import ResourceContents, SkillReference
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

AT_ONCE = 8
"""Requests for a `SKILL.md` of one server at a time."""
SECONDS = 10.0
"""Seconds for all of them together. What has arrived by then is kept."""
FILE_SECONDS = 50.0
"""Seconds for one file: less than the Server waits for this Computer."""
KEPT_SECONDS = 60.0
"""Seconds after which a `SKILL.md` is read again, since not every server announces its changes."""
_NOT_FOUND = (types.INVALID_PARAMS, types.METHOD_NOT_FOUND, -32002)
_LARGE = 128 * 1024
"""Characters of base64 that are decoded in a thread."""


class ServedSkills:
    """Lists the skills of a server, and reads their files. `mcp:ID:` comes before their names."""

    def __init__(self, server: str, session: Session, redact: Redact) -> None:
        self._server = server
        self._session = session
        self._redact = redact
        self._uris: dict[str, str] = {}
        """The address of each `SKILL.md`, by the name of its skill."""
        self._known: dict[str, tuple[float, Skill | None]] = {}
        """What was read, and when, by the name of its skill."""
        self._problems: dict[str, str] = {}
        self._turn = asyncio.Lock()

    @property
    def problems(self) -> list[str]:
        """Messages for the owner of the server."""
        return [f"{uri} is no skill: {problem}" for uri, problem in self._problems.items()]

    def take(self, uris: Iterable[str]) -> bool:
        """The server lists these; whether they are others than before."""
        before, self._uris = self._uris, {}
        self._known.clear()
        self._problems.clear()
        for uri in uris:
            name = uri.split("/")[-2]
            if self._uris.setdefault(name, uri) != uri:
                self._problems[uri] = f"{self._uris[name]} has the same name"
        return before != self._uris

    def outdate(self, uri: str) -> bool:
        """A resource changed; whether it is a skill."""
        name = next((name for name, known in self._uris.items() if known == uri), None)
        if name is None:
            return False
        self._known.pop(name, None)
        return True

    async def references(self, server_id: str) -> list[SkillReference]:
        """The skills that the server has now."""
        skills = await self._described()
        return [
            skill.reference(f"mcp:{server_id}:{name}", "mcp", self._uris[name].removesuffix("/" + SKILL_FILE), uri)
            for name, uri in self._uris.items()
            if (skill := skills.get(name)) is not None
        ]

    async def read(self, full_name: str, name: str, rel_path: str) -> Content:
        """A file of a skill; of its `SKILL.md`, what follows the front matter.

        Raises:
            MCPServerNotFoundError: there is no such skill.
            SkillFileError: the server does not have the file.
            TimedOutError: it did not answer in time.
            MCPError: it failed.
        """
        steps = check_path(rel_path)
        skill = (await self._described([name])).get(name) if name in self._uris else None
        if skill is None:
            raise no_skill(full_name)
        if rel_path == SKILL_FILE:
            return content_of(full_name, rel_path, skill.body.encode())
        uri = self._uris[name].removesuffix(SKILL_FILE) + "/".join(quote(step) for step in steps)
        try:
            async with asyncio.timeout(FILE_SECONDS):
                data = await _bytes_of(await self._session.read(uri))
        except TimeoutError:
            raise TimedOutError(f"MCP server {self._server} did not answer within {FILE_SECONDS:g} s") from None
        except MCPError as error:
            if error.code not in _NOT_FOUND:
                raise
            raise file_error("not_found", rel_path, in_words(error, self._redact)) from None
        except ValueError:
            raise file_error("not_found", rel_path, f"MCP server {self._server} sends no content") from None
        return content_of(full_name, rel_path, data)

    async def _described(self, names: Iterable[str] | None = None) -> dict[str, Skill]:
        """The skills of these names, or all. Those that cannot be read in time are missing."""
        wanted = list(self._uris if names is None else names)
        try:
            async with asyncio.timeout(SECONDS), self._turn:  # one after another: each needs what the other reads
                now = asyncio.get_running_loop().time()
                unknown = iter(
                    [name for name in wanted if self._known.get(name, (-KEPT_SECONDS,))[0] + KEPT_SECONDS <= now]
                )

                async def read_all() -> None:
                    for name in unknown:
                        await self._describe(name)

                await asyncio.gather(*(read_all() for _ in range(AT_ONCE)))
        except TimeoutError:
            logger.warning("MCP server %s does not send its skills within %g s", self._server, SECONDS)
        return {name: skill for name in wanted if (skill := self._known.get(name, (0.0, None))[1]) is not None}

    async def _describe(self, name: str) -> None:
        uri = self._uris.get(name)
        if uri is None:  # the list has changed meanwhile
            return
        skill: Skill | None = None
        try:
            data = await _bytes_of(await self._session.read(uri))
            if len(data) > MAX_SKILL_BYTES:
                raise FrontMatterError(f"its {SKILL_FILE} has more than {MAX_SKILL_BYTES} bytes")
            skill = read_skill(name, data.decode())
            self._problems.pop(uri, None)
        except (MCPError, ValueError) as error:
            self._problems[uri] = in_words(error, self._redact)
            logger.warning("%s of %s is no skill: %s", one_line(uri), self._server, one_line(self._problems[uri]))
        if self._uris.get(name) == uri:
            self._known[name] = asyncio.get_running_loop().time(), skill


async def _bytes_of(contents: list[ResourceContents]) -> bytes:
    """The first part of an answer.

    Raises:
        ValueError: it has none.
    """
    part: dict[str, Any] = dict(contents[0]) if contents else {}
    if isinstance(text := part.get("text"), str):
        return text.encode(errors="replace")
    if not isinstance(blob := part.get("blob"), str):
        raise ValueError("it has no content")
    try:
        return base64.b64decode(blob) if len(blob) <= _LARGE else await asyncio.to_thread(base64.b64decode, blob)
    except binascii.Error:
        raise ValueError("its base64 is not valid") from None
