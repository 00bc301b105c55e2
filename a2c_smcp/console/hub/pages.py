"""The pages of the Server's console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from a2c_smcp.console.hub.connecting import office_of, server_url, snippets
from a2c_smcp.console.hub.members import MemberList
from a2c_smcp.console.web.operations import Page
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.server.administration import Administration


class ServerPages:
    """What a person sees. The modules of the pages fetch the data from the API."""

    def __init__(
        self, administration: Administration, members: MemberList, public_url: str | None, *, has_gateway: bool
    ) -> None:
        self._administration = administration
        self._members = members
        self._public_url = public_url
        self._has_gateway = has_gateway

    @property
    def pages(self) -> Sequence[Page]:
        """All of them, in the order of the menu."""
        return (
            Page("/", "hub/overview.html", "Overview", "hub/overview", self._frame),
            Page("/calls", "hub/calls.html", "Calls", "hub/calls", self._frame),
            Page("/keys", "hub/keys.html", "Keys", "hub/keys", self._keys),
            Page("/connect", "hub/connect.html", "Connect", "hub/connect", self._connect),
            Page("/offices/{office}", "hub/office.html", "Office", "hub/office", self._office, menu_title="Members"),
        )

    async def _frame(self, asked: Asked) -> Mapping[str, Any]:
        return {"can_drain": self._administration.stop is not None}

    async def _keys(self, asked: Asked) -> Mapping[str, Any]:
        file = self._administration.key_file
        return {"key_file": str(file.path) if file is not None else None}

    async def _office(self, asked: Asked) -> Mapping[str, Any]:
        return {"office": asked.path["office"], "has_gateway": self._has_gateway}

    async def _connect(self, asked: Asked) -> Mapping[str, Any]:
        offices = [each["office"] for each in self._members.all_offices()][:200]
        office = office_of(asked, offices)
        url = server_url(asked.request, self._public_url)
        has_keys = not self._administration.is_open
        return {
            "office": office,
            "offices": offices,
            "has_keys": has_keys,
            "groups": snippets(url, office, has_keys=has_keys, has_gateway=self._has_gateway),
        }
