"""What makes up the session of a host before 2026-07-28, so that the bridge can open it again after a restart of the
Server.

A new session gets the requests that changed the old one. It may reject some of them: after a restart, a Computer often
returns later than the host, and until then nobody can watch its resources. These requests are repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import count
from typing import Any, TypeAlias

import mcp_types as types

from a2c_smcp.utils.backoff import Backoff

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds before the requests that a new session rejected are repeated."""
OPENING_ID = "a2c-bridge"
"""The id of the request with which the bridge opens a session. The ids of its other requests start with it. Hosts use
numbers, or texts of their own."""

_Setting: TypeAlias = tuple[str, str | None]
"""A method, and the address of the resource that it is for, if it is for one."""


class KeptSession:
    """The session of one host."""

    def __init__(self) -> None:
        self.opening: types.JSONRPCRequest | None = None
        """The host's `initialize`, which opens every session; None without a session."""
        self.version: str | None = None
        """The protocol version of the session."""
        self._settings: dict[_Setting, types.JSONRPCRequest] = {}
        """The requests that changed the session."""
        self._repeated: dict[Any, _Setting] = {}
        """The requests that were repeated and are not answered, by the bridge's own ids."""
        self._rejected: dict[_Setting, None] = {}
        self._is_rejected = asyncio.Event()
        self._numbers = count()

    def note_answer(self, asked: types.JSONRPCRequest, answer: types.JSONRPCResponse) -> None:
        """The host got an answer: remember what makes up the session."""
        params: Mapping[str, Any] = asked.params or {}
        match asked.method:
            case "initialize":
                version = answer.result.get("protocolVersion")
                self.version = version if isinstance(version, str) else None
                self.opening = asked
            case "resources/subscribe":
                self._settings["resources/subscribe", params.get("uri")] = asked
            case "resources/unsubscribe":
                self._settings.pop(("resources/subscribe", params.get("uri")), None)
            case "logging/setLevel":
                self._settings["logging/setLevel", None] = asked
            case _:
                pass

    # ---------------------------------------------------------------------------------------------------- a new session

    def begin(self) -> list[types.JSONRPCRequest]:
        """The requests that a new session needs."""
        self._repeated.clear()
        self._rejected.clear()
        self._is_rejected.clear()
        return [self._repeat(setting) for setting in self._settings]

    async def rejected(self, backoff: Backoff) -> list[types.JSONRPCRequest]:
        """The requests that the session rejected, when it is time to repeat them."""
        await self._is_rejected.wait()
        await asyncio.sleep(backoff.next())
        self._is_rejected.clear()
        rejected, self._rejected = self._rejected, {}
        return [self._repeat(setting) for setting in rejected if setting in self._settings]

    def note_own_answer(self, answer: types.JSONRPCResponse | types.JSONRPCError) -> str | None:
        """A request of the bridge was answered. The address of a resource that is watched again: it may have changed
        meanwhile."""
        setting = self._repeated.pop(answer.id, None)
        if setting is None:
            return None
        if isinstance(answer, types.JSONRPCError):
            self._rejected[setting] = None
            self._is_rejected.set()
            return None
        return setting[1]

    def _repeat(self, setting: _Setting) -> types.JSONRPCRequest:
        request_id = f"{OPENING_ID}-{next(self._numbers)}"
        self._repeated[request_id] = setting
        return self._settings[setting].model_copy(update={"id": request_id})


def is_own(request_id: Any) -> bool:
    """Whether a request is one of the bridge."""
    return str(request_id).startswith(OPENING_ID)
