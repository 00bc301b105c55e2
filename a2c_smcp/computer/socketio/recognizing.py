"""What a Computer knows of its Server: which one it is, what it relays, and which office it has this Computer in."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.errors import NotConnectedError, SMCPError
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import DIALECTS, V0_3, V0_4
from a2c_smcp.protocol.handshake import OFFICIAL, ServerInfo
from a2c_smcp.protocol.requests import list_members
from a2c_smcp.protocol.terms import SINCE_0_2, dialect_in
from a2c_smcp.protocol.trial import Trial
from a2c_smcp.smcp import (
    UPDATE_CONFIG_EVENT,
    UPDATE_DESKTOP_EVENT,
    UPDATE_PROMPTS_EVENT,
    UPDATE_RESOURCES_EVENT,
    UPDATE_SKILLS_EVENT,
    UPDATE_TOOL_LIST_EVENT,
)
from a2c_smcp.transport.async_client import AsyncOfficeClient

if TYPE_CHECKING:
    from a2c_smcp.computer.computer import Computer

_ADDED = frozenset((UPDATE_RESOURCES_EVENT, UPDATE_PROMPTS_EVENT, UPDATE_SKILLS_EVENT))
"""The updates that the protocol does not have."""
_OFFICIAL_UPDATES = frozenset((UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT, UPDATE_DESKTOP_EVENT))
"""The updates that every official Server relays."""
_ROSTER_SECONDS = 5.0
"""How long an official Server has to list the members."""
_RECOGNIZED_SECONDS = 5.0
"""How long an answer waits until it is known how to write it."""

# Nearly all requests of a Computer come from the same caller.
_caller_of = functools.lru_cache(maxsize=64)(Caller)


class RecognizingClient(AsyncOfficeClient):
    """A Computer's client, as far as it recognizes its Server."""

    def __init__(self, *args: Any, computer: Computer, **options: Any) -> None:
        super().__init__(*args, **options)
        self.computer = computer
        self._moving_from: str | None = None
        """The office of this Computer while the Server has not confirmed that it moved to another."""
        self._learned = asyncio.Event()
        """Set when a Server has accepted this Computer, which then knows how to spell its answers."""
        self._recognizing: asyncio.Task[None] | None = None
        self._trial: Trial | None = None

    # ------------------------------------------------------------------------------------------------------- the Server

    def _learn(self, info: ServerInfo) -> None:
        super()._learn(info)
        self._learned.set()
        self._stop_recognizing()
        # Releases of 0.3 differ, and the version that they demand does not tell which it is.
        if info.dialect in (OFFICIAL, V0_3.name) and not self._terms.is_pinned:
            self._recognizing = asyncio.create_task(self._recognize_server(), name="recognize the Server")

    async def _recognize_server(self) -> None:
        """Find out how an official Server wants answers to be written, and whether it relays binaries in parts."""
        # First its list of members, which is a matter of one answer: it tells 0.1 from all later versions.
        try:
            members = await self._run(list_members(self.computer.name, self.office_id or "", _ROSTER_SECONDS))
        except SMCPError:  # logged; a Server that does not say is treated as one that relays none
            return
        listed = dialect_in(members, self.role, self.computer.name)
        if self.server_info.dialect == OFFICIAL and listed is not None:
            self.server_info = replace(self.server_info, dialect=listed)
        if listed == SINCE_0_2:
            await self._try_server()

    async def _try_server(self) -> None:
        """Find out the version of an official Server that checks none."""
        self._trial = Trial(self.computer.name)
        try:
            found = await self._run(self._trial.run())
        except NotConnectedError:  # the next connection starts this again
            return
        finally:
            self._trial = None
        if found is not None:
            self.server_info = replace(self.server_info, dialect=found)

    def _stop_recognizing(self) -> None:
        if self._recognizing is not None:
            self._recognizing.cancel()
            self._recognizing = None

    async def recognized(self) -> ServerInfo:
        """What is known of the Server, as soon as an official one has been recognized."""
        if (reading := self._recognizing) is not None and not reading.done():
            await asyncio.wait([reading], timeout=_RECOGNIZED_SECONDS)
        return self.server_info

    @property
    def _dialect(self) -> Dialect:
        """How answers are spelled at an official Server."""
        name = self.server_info.dialect or ""
        # Where only the Server's age is uncertain, the newest form: older ones leave out what they do not know.
        return DIALECTS.get(name, V0_4)

    def _relays(self, event: str) -> bool:
        """Whether the Server knows an event that the protocol does not have. Another one would log each as unknown."""
        return event in self.server_info.features

    def _relays_update(self, event: str) -> bool:
        """Whether the Server relays an update."""
        if self.server_info.is_official:
            return event in _OFFICIAL_UPDATES or (event == UPDATE_SKILLS_EVENT and self.server_info.passes_blobs)
        return event not in _ADDED or self._relays(event)

    # ------------------------------------------------------------------------------------------------------- the office

    @contextlib.contextmanager
    def _moving(self) -> Generator[str | None]:
        """A move to another office. Yields the one before, where the Server has this Computer until it confirms."""
        before = self._moving_from = self.office_id
        try:
            yield before
        finally:
            self._moving_from = None

    def _on_ack(self, number: int, values: list[Any]) -> bool:
        is_ours = super()._on_ack(number, values)
        # Here, and not when `join_office` goes on: a request of the new office may be the next packet.
        if is_ours and values[:1] == [True]:
            self._moving_from = None
        return is_ours

    def _caller(self, agent: str, principal: str | None = None) -> Caller:
        """Who sends a request: an Agent of the office that this Computer is in as far as the Server is concerned."""
        return _caller_of(self._moving_from or self.office_id or "", agent, principal)
