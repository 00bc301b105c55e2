"""The resources that the program of an Agent watches at each Computer, and which of them a notification is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Watched: TypeAlias = tuple[str, str | None]
"""The address of a resource, and its MCP server if the program named one."""

_AGREED = object()
"""Holds a watch to which the Computer has agreed."""


class WatchedResources:
    """Each watch has its holders: the requests that wait for an answer, and the agreement of the Computer.

    A program may request the same watch twice at a time. If one of the requests fails, the other one still counts.
    """

    def __init__(self) -> None:
        self._holders: dict[str, dict[Watched, set[object]]] = {}

    def at(self, computer: str) -> list[Watched]:
        """What is watched at a Computer."""
        return list(self._holders.get(computer, ()))

    def begin(self, computer: str, watched: Watched) -> object:
        """A request to watch a resource is about to be sent: the first notification may precede its answer."""
        request = object()
        self._holders.setdefault(computer, {}).setdefault(watched, set()).add(request)
        return request

    def end(self, computer: str, watched: Watched, request: object, *, agreed: bool) -> None:
        """The request has its answer, or failed."""
        holders = self._holders.get(computer, {}).get(watched, set())
        # The watch may have been removed since: by the program, or because the Agent left the office.
        if request not in holders:
            return
        holders.remove(request)
        if agreed:
            holders.add(_AGREED)
        elif not holders:
            self._drop(computer, watched)

    def remove(self, computer: str, uri: str, mcp_server: str | None) -> None:
        """The program does not watch a resource any more, of one MCP server or of any."""
        for watched in self.at(computer):
            if watched[0] == uri and mcp_server in (None, watched[1]):
                self._drop(computer, watched)

    def clear(self) -> None:
        """The Agent left its office."""
        self._holders = {}

    def find(self, computer: str, notice: Mapping[str, Any]) -> Watched | None:
        """The watch that a notification of a Computer belongs to."""
        uri, server = notice.get("uri"), notice.get("mcp_server")
        if not isinstance(uri, str) or not isinstance(server, str | None):
            return None
        held = self._holders.get(computer, {})
        return next((each for each in ((uri, server), (uri, None)) if each in held), None)

    def _drop(self, computer: str, watched: Watched) -> None:
        held = self._holders[computer]
        del held[watched]
        if not held:
            del self._holders[computer]
