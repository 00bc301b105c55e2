"""What both Agents know of their office, and how it stays current.

The rules are in `a2c_smcp.protocol.upkeep`. This class reports to it what happened, and performs the actions that it
returns: a fetch in the background, a change for all listeners. Nothing here waits, except in flows, which either form
runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, cast
from weakref import WeakSet

from a2c_smcp.agent.calling import REQUEST_SECONDS, CallingAgent
from a2c_smcp.errors import NotConnectedError, NotFoundError, NotInOfficeError, SMCPError, TimedOutError
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.client_effects import ClientBackend
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.handshake import OFFICIAL
from a2c_smcp.protocol.resource_requests import watch_resource
from a2c_smcp.protocol.terms import dialect_in
from a2c_smcp.protocol.upkeep import WORTH_RETRYING, Actions, Change, Fetch, Kind, Upkeep
from a2c_smcp.protocol.watched import Watched
from a2c_smcp.smcp import (
    NOTIFY_PREFIX,
    TOOL_CALL_LOG_NOTIFICATION,
    TOOL_CALL_PROGRESS_NOTIFICATION,
    UPDATE_RESOURCE_EVENT,
    GetComputerConfigRet,
    GetFinderRet,
    SessionInfo,
    SMCPTool,
)

logger = logging.getLogger(__name__)


class ToolListing(list[SMCPTool]):
    """The tools of a Computer, and the digest that it gave the list, if it gave one."""

    def __init__(self, tools: Iterable[SMCPTool], digest: str | None) -> None:
        super().__init__(tools)
        self.digest = digest


class KeepingAgent(CallingAgent):
    """An Agent, as far as it knows what its office offers."""

    connected: bool
    """Whether there is a connection; an attribute of the library's client."""
    _progress: Any
    """A condition. Code that reads or changes `_upkeep` holds it: in the blocking client, the reader, the workers and
    the program are different threads. It is notified when `wait_for` has to check again."""

    def _initialize_upkeep(self, kept: Iterable[Kind]) -> None:
        self._upkeep = Upkeep(kept)
        self._listeners: WeakSet[Any] = WeakSet()
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether this Agent was connected, is not any more, and does not reconnect."""
        return self._has_ended

    # -------------------------------------------------------------------------------------------------- what is offered

    @property
    def computers(self) -> tuple[str, ...]:
        """The names of the Computers in the office, in order of arrival."""
        return tuple(self._upkeep.offers)

    @property
    def tools(self) -> Mapping[str, list[SMCPTool]]:
        """The tools of each Computer, by its name. A list is empty until the tools are known."""
        # Copied in one step. In the blocking client, the reader thread adds and removes Computers meanwhile, and to
        # iterate over the dictionary itself would raise.
        offers = dict(self._upkeep.offers)
        return MappingProxyType({computer: list(offer.get("tools", ())) for computer, offer in offers.items()})

    @property
    def desktops(self) -> Mapping[str, list[str]]:
        """The windows of each Computer, with `keep=["desktop"]` or `on_desktop_updated`."""
        return self._kept("desktop")

    @property
    def finders(self) -> Mapping[str, GetFinderRet]:
        """The first 20 documents of each Computer, with `keep=["finder"]` or `on_finder_updated`."""
        return self._kept("finder")

    @property
    def configs(self) -> Mapping[str, GetComputerConfigRet]:
        """The configuration of each Computer, with `keep=["config"]`."""
        return self._kept("config")

    def _kept(self, kind: Kind) -> Mapping[str, Any]:
        offers = dict(self._upkeep.offers)
        return MappingProxyType({computer: offer[kind] for computer, offer in offers.items() if kind in offer})

    def _is_there(self, computer: str | None, tool: str | None) -> bool:
        """Whether `wait_for` is done.

        Raises:
            NotInOfficeError: the Agent is in no office, so that waiting is pointless.
        """
        if self._seat is None:
            raise NotInOfficeError("this Agent is in no office")
        if computer is None:
            return self._upkeep.is_settled
        offer = self._upkeep.offers.get(computer)
        if offer is None or tool is None:
            return offer is not None
        return any(each["name"] == tool for each in offer.get("tools", ()))

    def _missing(self, computer: str | None, tool: str | None, timeout: float) -> TimedOutError:
        """The error that says what `wait_for` did not find in time."""
        if computer is None:
            return TimedOutError(f"the tools of the Computers are still unknown after {timeout:g} s")
        if computer not in self._upkeep.offers:
            present = ", ".join(self._upkeep.offers) or "no Computer"
            what = f"Computer {computer!r} is not in the office; {present} is there"
        else:
            what = f"Computer {computer!r} has no tool {tool!r}"
        return TimedOutError(f"{what}; waited {timeout:g} s", details={"computer": computer, "tool": tool})

    # -------------------------------------------------------------------------------------------------- keeping current

    def _looking_around(self, office_id: str) -> Flow[ClientBackend, None]:
        """Fetch the list of Computers, so that it is known when `join_office` returns."""
        try:
            with self._progress:
                actions = self._upkeep.join(office_id, time.monotonic())
            for action in actions:
                if isinstance(action, Fetch):
                    yield from self._fetching(action)
        except BaseException:
            # A caller that is cancelled or interrupted here is in the office all the same, so the fetch starts again in
            # the background.
            with self._progress:
                self._perform(self._upkeep.join(office_id, time.monotonic()))
            raise

    def _fetching(self, fetch: Fetch) -> Flow[ClientBackend, None]:
        """Fetch what the upkeep asks for, and perform the actions that follow."""
        with self._progress:
            if not self._upkeep.begin(fetch, time.monotonic()):
                return
        try:
            outcome = yield from self._requesting(fetch)
        except SMCPError as error:
            outcome = error
        except BaseException:
            # The upkeep starts no second fetch of a kind while one runs. Without this, it would never start another.
            with self._progress:
                self._upkeep.abandon(fetch)
            raise
        with self._progress:
            self._perform(self._upkeep.end(fetch, outcome, time.monotonic()))

    def _requesting(self, fetch: Fetch) -> Flow[ClientBackend, Any]:
        computer = fetch.computer
        if computer is None:
            # The office is None if the connection broke meanwhile. The request then fails; `_on_rejoined` repeats it.
            members = yield from requests.list_members(self.name, self.office_id or "", REQUEST_SECONDS)
            self._recognize_server(members)
            return [member["name"] for member in members if member["role"] == "computer"]
        match fetch.kind:
            case "config":
                return (yield from requests.get_config(self.name, computer, REQUEST_SECONDS))
            case "desktop":
                answer = yield from requests.get_desktop(self.name, computer, None, None, REQUEST_SECONDS)
                return answer["desktops"]
            case "finder":
                return (
                    yield from requests.get_finder(
                        self.name, computer, None, None, 0, requests.DEFAULT_LIMIT, REQUEST_SECONDS
                    )
                )
            case "watches":
                return (yield from self._watching_again(computer))
            case _:
                # A Computer that gave the list a digest need not send it again while it is the same.
                known = self._upkeep.offers.get(computer, {}).get("tools")
                digest = known.digest if isinstance(known, ToolListing) else None
                answer = yield from requests.get_tools(self.name, computer, REQUEST_SECONDS, digest)
                return known if answer.get("unchanged") else ToolListing(answer["tools"], answer.get("digest"))

    def _recognize_server(self, members: list[SessionInfo]) -> None:
        """Note what the members' sessions say about an official Server."""
        if self.server_info.dialect == OFFICIAL:
            self.server_info = replace(self.server_info, dialect=dialect_in(members, self.role, self.name) or OFFICIAL)

    def _is_doubtful(self, data: Any) -> bool:
        """Whether a request is for a Computer that may not exist, at a Server that would not say so."""
        if not self.server_info.is_official or not self.connected or not isinstance(data, dict):
            return False
        computer = cast("dict[str, Any]", data).get("computer")
        return computer is not None and computer not in self._upkeep.offers

    def _locating(self, computer: str, timeout: float) -> Flow[ClientBackend, None]:
        """Make sure that a Computer is in the office.

        Raises:
            NotFoundError: it is not.
            NotInOfficeError: this Agent is in no office.
            SMCPError: the Server does not say.
        """
        if self.office_id is None:
            raise NotInOfficeError("this Agent is in no office")
        # Asked and not concluded from what is known: an official Server may not have announced the Computer.
        members = yield from requests.list_computers(self.name, self.office_id, timeout)
        if all(member["name"] != computer for member in members):
            raise NotFoundError(f"there is no Computer {computer!r} in office {self.office_id!r}")

    def _watching_again(self, computer: str) -> Flow[ClientBackend, set[Watched]]:
        """Request again what is watched at a Computer that forgot it; returns what that failed for.

        Raises:
            SMCPError: the Computer did not answer, and may do so later.
        """
        failed: set[Watched] = set()
        for watched in self._upkeep.watched.at(computer):
            if watched not in self._upkeep.watched.at(computer):
                continue  # the program ended this watch while another one was requested
            try:
                yield from watch_resource(self.name, computer, *watched, True, REQUEST_SECONDS)
            except SMCPError as error:
                if error.code in WORTH_RETRYING or isinstance(error, NotConnectedError):
                    raise
                logger.warning("%s of %s is not watched any more: %s", watched[0], computer, error.message)
                failed.add(watched)
        return failed

    def _watching(
        self, computer: str, uri: str, mcp_server: str | None, watch: bool, timeout: float
    ) -> Flow[ClientBackend, None]:
        """Watch a resource, or stop watching it."""
        watched, table = (uri, mcp_server), self._upkeep.watched
        if not watch:
            with self._progress:
                table.remove(computer, uri, mcp_server)
            yield from watch_resource(self.name, computer, uri, mcp_server, False, timeout)
            return
        if UPDATE_RESOURCE_EVENT not in self.server_info.features:
            logger.warning("this Server does not relay changes of resources: those of %s are not reported", uri)
        with self._progress:
            request = table.begin(computer, watched)
        agreed = False
        try:
            yield from watch_resource(self.name, computer, uri, mcp_server, True, timeout)
            agreed = True
        finally:
            with self._progress:
                table.end(computer, watched, request, agreed=agreed)

    def _perform(self, actions: Actions) -> None:
        """Start the fetches and announce the changes. The caller holds `_progress`."""
        # Held from the decision of the upkeep to the announcement: otherwise two threads could announce "leave" before
        # "enter" of the same Computer.
        for action in actions:
            if isinstance(action, Fetch):
                self._background.start(partial(self._run, self._fetching(action)), action.delay)
            else:
                self._announce(action)
        self._progress.notify_all()

    def _announce(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener.put(change)

    # ----------------------------------------------------------------------------------------------- the client's hooks

    # The transport calls these where it reads the connection, on the event loop or in the reader thread. They must not
    # wait for an answer: nothing would read it. They only record what happened, and start background work.

    def _on_event(self, event: str, data: list[Any]) -> None:
        if event in (TOOL_CALL_PROGRESS_NOTIFICATION, TOOL_CALL_LOG_NOTIFICATION):
            self._on_report(event, data)
        elif event.startswith(NOTIFY_PREFIX):
            with self._progress:
                self._perform(self._upkeep.hear(event, data[0] if data else None, time.monotonic()))

    def _on_rejoined(self) -> None:
        office_id = self.office_id
        # Announced first: the changes that the new list of Computers brings happened while the Agent was away.
        with self._progress:
            self._announce(Change("rejoined"))
            if office_id is not None:
                self._perform(self._upkeep.join(office_id, time.monotonic()))

    def _on_lost(self) -> None:
        with self._progress:
            self._perform(self._upkeep.lose())

    def _on_given_up(self) -> None:
        self._has_ended = True
        with self._progress:
            self._progress.notify_all()
            listeners = list(self._listeners)  # a listener that is garbage-collected leaves the set at any moment
        for listener in listeners:
            listener.close()
