"""What both forms of the Agent share: its name, what it knows of its office, and the calls of the event handler.

The rules for keeping an Agent current are in `a2c_smcp.protocol.upkeep`. This class reports to it what happened, and
performs the actions that it returns: a fetch in the background, a change for all listeners. Nothing here waits, except
in flows, which either form runs.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast
from weakref import WeakSet

from a2c_smcp.agent.auth import AgentAuthProvider
from a2c_smcp.errors import NotConnectedError, NotInOfficeError, OfficeRefusedError, SMCPError, TimedOutError, error_for
from a2c_smcp.protocol import requests
from a2c_smcp.protocol.client_effects import ClientBackend
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.questions import Progress, Question
from a2c_smcp.protocol.resource_requests import watch_resource
from a2c_smcp.protocol.upkeep import WORTH_RETRYING, Actions, Change, Fetch, Kind, Upkeep, Watched
from a2c_smcp.smcp import (
    NOTIFY_PREFIX,
    TOOL_CALL_PROGRESS_NOTIFICATION,
    UPDATE_RESOURCE_EVENT,
    GetComputerConfigRet,
    GetFinderRet,
    SMCPTool,
)
from a2c_smcp.transport.base import OfficeClientBase
from a2c_smcp.types import Role

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult

logger = logging.getLogger(__name__)

OnProgress: TypeAlias = Callable[[Progress], None]
"""Called with each report about the progress of a call, where the connection is read. Must not wait."""
OnQuestion: TypeAlias = Callable[[Question], Any]
"""Answers a question of a tool; see `AgentBase.on_question`."""
OnQuestionT = TypeVar("OnQuestionT", bound=OnQuestion)

CALL_SECONDS = 60.0
"""The default time limit of a tool call."""
REQUEST_SECONDS = 20.0
"""The default time limit of any other request."""
SETTLE_SECONDS = 5.0
"""How long `in_office` waits for the tools of Computers that answer slowly."""

_HANDLERS = {
    "enter": "on_computer_enter_office",
    "leave": "on_computer_leave_office",
    "config": "on_computer_update_config",
    "tools": "on_tools_received",
    "desktop": "on_desktop_updated",
    "finder": "on_finder_updated",
    "resources": "on_update_resources",
    "prompts": "on_update_prompts",
    "resource": "on_update_resource",
    "disconnected": "on_disconnected",
    "rejoined": "on_rejoined",
}
_IMPLIED: tuple[tuple[str, Kind], ...] = (("on_desktop_updated", "desktop"), ("on_finder_updated", "finder"))


class ToolListing(list[SMCPTool]):
    """The tools of a Computer, and the digest that it gave the list, if it gave one."""

    def __init__(self, tools: Iterable[SMCPTool], digest: str | None) -> None:
        super().__init__(tools)
        self.digest = digest


class AgentBase(OfficeClientBase):
    """An Agent, without what waits.

    `keep` names what is fetched whenever it changes, beside the tools: "config", "desktop", "finder". The latter two
    are also kept if the event handler has a method for them.
    """

    role: ClassVar[Role] = "agent"
    _forbidden_prefixes: ClassVar[tuple[str, ...]] = (NOTIFY_PREFIX,)

    _progress: Any
    """A condition. Code that reads or changes `_upkeep` holds it: in the blocking client, the reader, the workers and
    the program are different threads. It is notified when `wait_for` has to check again."""
    _background: Any
    """An `AsyncBackground` or a `SyncBackground`."""

    def _initialize_agent(
        self,
        auth_provider: AgentAuthProvider,
        event_handler: Any,
        keep: Iterable[Kind],
        on_question: OnQuestion | None,
    ) -> None:
        self.auth_provider = auth_provider
        self.event_handler = event_handler
        self.name = auth_provider.get_agent_id()
        # A handler with a method for windows or documents wants their contents. A program without one may only want to
        # know that they changed, and each fetch costs the Computer reads of its MCP servers.
        implied: list[Kind] = [kind for method, kind in _IMPLIED if hasattr(event_handler, method)]
        self._upkeep = Upkeep(("tools", *keep, *implied))
        self._listeners: WeakSet[Any] = WeakSet()
        self._reports: dict[str, Callable[[dict[str, Any]], None]] = {}
        """What takes the progress of each running call, by its `req_id`."""
        self._question_handler = on_question
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

    # ---------------------------------------------------------------------------------------------------- during a call

    def on_question(self, handler: OnQuestionT) -> OnQuestionT:
        """Answer the questions of tools with this function, which gets a `Question`; usable as a decorator.

        It returns `question.accept(…)`, `question.decline()` or `question.cancel()`; a mapping accepts a form with its
        values, None declines. It may be plain or async, and may wait for a person. Without such a function, and without
        a method `on_question(question, client)` of the event handler, the result of the call explains the question.
        """
        self._question_handler = handler
        return handler

    def _calling(
        self,
        computer: str,
        tool: str,
        params: Mapping[str, Any],
        timeout: float,
        on_progress: OnProgress | None,
        on_question: OnQuestion | None,
    ) -> Flow[ClientBackend, CallToolResult]:
        """Call a tool, with its progress and its questions."""
        handler = on_question or self._question_handler
        method = getattr(self.event_handler, "on_question", None)

        def answer(question: Question) -> Any:
            if handler is not None:
                return self._background.consult(handler, question)
            return self._background.consult(method, question, self)

        return requests.call_tool(
            self.name,
            computer,
            tool,
            params,
            timeout,
            answer=answer if handler is not None or method is not None else None,
            listen=self._listening_to(computer, tool, on_progress),
        )

    def _listening_to(self, computer: str, tool: str, on_progress: OnProgress | None) -> requests.Listen | None:
        """What receives the progress of a call; None if the program does not want it."""
        return partial(self._listening, computer, tool, on_progress) if on_progress is not None else None

    @contextlib.contextmanager
    def _listening(self, computer: str, tool: str, on_progress: OnProgress, req_id: str) -> Generator[None]:
        def take(report: dict[str, Any]) -> None:
            done, total, message = report.get("progress"), report.get("total"), report.get("message")
            # The `req_id` is random, and known to one Computer only; a report of another is forged.
            if report.get("computer") == computer and isinstance(done, int | float):
                whole = total if isinstance(total, int | float) else None
                on_progress(Progress(computer, tool, done, whole, message if isinstance(message, str) else None))

        self._reports[req_id] = take
        try:
            yield
        finally:
            del self._reports[req_id]

    def _on_progress(self, data: list[Any]) -> None:
        report = cast("dict[str, Any]", data[0]) if data and isinstance(data[0], dict) else {}
        req_id = report.get("req_id")
        take = self._reports.get(req_id) if isinstance(req_id, str) else None
        if take is None:  # of a call that has ended
            return
        try:
            take(report)
        except Exception:
            logger.exception("on_progress failed")

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
            members = yield from requests.list_computers(self.name, self.office_id or "", REQUEST_SECONDS)
            return [member["name"] for member in members]
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

    def _watching_again(self, computer: str) -> Flow[ClientBackend, set[Watched]]:
        """Request again what is watched at a Computer that forgot it; returns what that failed for.

        Raises:
            SMCPError: the Computer did not answer, and may do so later.
        """
        failed: set[Watched] = set()
        for watched in list(self._upkeep.watched.get(computer, ())):
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
        # Noted before the request is sent: the first notification may precede the answer. If the request fails, what
        # was watched before stays watched.
        if watch and UPDATE_RESOURCE_EVENT not in self.server_info.features:
            logger.warning("this Server does not relay changes of resources: those of %s are not reported", uri)
        watched = uri, mcp_server
        was_watched = watched in self._upkeep.watched.get(computer, ())
        with self._progress:
            if watch:
                self._upkeep.watch(computer, watched)
            else:
                self._upkeep.unwatch(computer, uri, mcp_server)
        try:
            yield from watch_resource(self.name, computer, uri, mcp_server, watch, timeout)
        except BaseException:
            if watch and not was_watched:
                with self._progress:
                    self._upkeep.unwatch(computer, uri, mcp_server)
            raise

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
        if event == TOOL_CALL_PROGRESS_NOTIFICATION:
            self._on_progress(data)
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

    # ---------------------------------------------------------------------------------------------------------- handler

    def _tell_handler(self, change: Change) -> Any:
        """Call the handler's method for this change, if it has one. The result may be awaitable."""
        method = getattr(self.event_handler, _HANDLERS[change.kind], None)
        if method is None:
            return None
        match change.kind:
            case "enter" | "leave" | "resource":
                return method(change.data, self)
            case "config" | "resources" | "prompts":
                return method({"computer": change.computer}, self)
            case "disconnected" | "rejoined":
                return method(self)
            case _:
                return method(change.computer, change.data, self)

    # ------------------------------------------------------------------------------------------------------- connecting

    def _connect_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """The office, and the headers and `auth` payload: functions, which the library calls at every reconnection."""
        provided = {
            "office_id": self.auth_provider.get_agent_config().get("office_id"),
            "headers": self.auth_provider.get_connection_headers,
            "auth": self.auth_provider.get_connection_auth,
        }
        return {**provided, **given}

    def _seat_for(self, office_id: str | None, agent_name: str | None) -> tuple[str, str]:
        config = self.auth_provider.get_agent_config()
        return office_id or config["office_id"], agent_name or config["agent"]


def typed(error: OfficeRefusedError) -> SMCPError:
    """The error class for the code with which the Server rejected a join or leave."""
    # Where no valid answer came, the cause is the error itself, such as a timeout with its time.
    if isinstance(error.__cause__, SMCPError):
        return error.__cause__
    return error_for(error.code, error.message)
