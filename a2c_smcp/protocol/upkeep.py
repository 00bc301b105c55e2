"""Keeps an Agent's view of its office current: receives notifications, and decides what to fetch and report.

It does no I/O and waits for nothing; the client fetches. For each Computer and kind (tools, config, …) at most one
fetch runs at a time. A notification that arrives meanwhile leads to one more fetch afterwards, and fetches are at least
`INTERVAL` seconds apart: a thousand notifications cost a handful of requests. A fetch that failed is retried if a retry
can help.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from a2c_smcp import smcp
from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.watched import Watched, WatchedResources
from a2c_smcp.utils.backoff import Backoff

logger = logging.getLogger(__name__)

INTERVAL = 0.1
_RETRIES = Backoff(0.5, 30.0)

Kind: TypeAlias = Literal["tools", "config", "desktop", "finder"]
ChangeKind: TypeAlias = Literal[
    "enter",
    "leave",
    "tools",
    "config",
    "desktop",
    "finder",
    "resources",
    "prompts",
    "skills",
    "resource",
    "disconnected",
    "rejoined",
]

_UPDATES: dict[str, tuple[Kind | Literal["resources", "prompts", "skills"], ...]] = {
    smcp.UPDATE_CONFIG_NOTIFICATION: ("config", "tools"),
    smcp.UPDATE_TOOL_LIST_NOTIFICATION: ("tools",),
    smcp.UPDATE_DESKTOP_NOTIFICATION: ("desktop",),
    smcp.UPDATE_FINDER_NOTIFICATION: ("finder",),
    smcp.UPDATE_RESOURCES_NOTIFICATION: ("resources",),
    smcp.UPDATE_PROMPTS_NOTIFICATION: ("prompts",),
    smcp.UPDATE_SKILLS_NOTIFICATION: ("skills",),
}
# A timeout, the rate limit, a fault inside the Computer: all of these pass. Any other error is the answer to this
# request and would come again; the next notification of a change starts a new fetch anyway.
WORTH_RETRYING = frozenset((408, 429, 500))
_NO_WONDER = frozenset((404, 503))
"""Codes that need no warning: the Computer left, or the connection broke, which is reported anyway."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed in the office of an Agent."""

    kind: ChangeKind
    """`enter`, `leave`, `tools`, `config`, `desktop`, `finder`, `resources`, `prompts` and `skills` (their lists),
    `resource`, `disconnected` or `rejoined`."""
    computer: str | None = None
    """The name of the Computer; None for `disconnected` and `rejoined`."""
    data: Any = None
    """The new value, if the Agent keeps this kind; the notification for `enter`, `leave` and `resource`; else None."""
    watched: Watched | None = field(default=None, repr=False, compare=False)
    """The watch that a `resource` belongs to: its address, and its MCP server if the program named one."""


@dataclass(eq=False, slots=True)
class _Job:
    """The fetches of one kind of one Computer, one after another."""

    started: float = -INTERVAL
    is_wanted: bool = False
    """Whether a fetch runs or is scheduled."""
    is_running: bool = False
    """Whether a fetch runs."""
    is_outdated: bool = False
    """Whether the value changed while it was being fetched."""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fetch to run after `delay` seconds, between `begin` and `end`. Without a Computer it fetches the roster; the
    kind `watches` requests again what was watched, and its outcome is what that failed for."""

    computer: str | None
    kind: Kind | Literal["watches"] | None
    delay: float
    job: _Job = field(repr=False)


_Key: TypeAlias = tuple[str | None, Kind | Literal["watches"] | None]
Action: TypeAlias = Change | Fetch
Actions: TypeAlias = list[Action]


class Upkeep:
    """The offers of all Computers in the office. `keep` names the kinds that are fetched and kept."""

    def __init__(self, keep: Iterable[Kind] = ("tools",)) -> None:
        self.keep: tuple[Kind, ...] = tuple(dict.fromkeys(keep))
        self.offers: dict[str, dict[Kind, Any]] = {}
        """By Computer, in order of arrival."""
        self.watched = WatchedResources()
        """The resources that the program watches. They stay watched when the Agent or the Computer comes back to the
        office."""
        self._unwatched: set[str] = set()
        """The Computers at which some of them could not be watched again."""
        self._office_id: str | None = None
        self._jobs: dict[_Key, _Job] = {}
        self._started: dict[_Key, float] = {}
        """The last fetches from Computers that left: one that leaves and enters in a loop is not fetched more often."""
        self._heard: list[tuple[str, bool]] | None = None
        """Enters and leaves since the roster was requested, which are newer than the roster; None while none is."""
        self._has_roster = False

    @property
    def is_settled(self) -> bool:
        """Whether every fetch has ended or has failed at least once."""
        # A fetch that fails counts as settled: a program that waits for the first tools of all Computers must not wait
        # for one Computer that is broken.
        return not any(job.is_wanted and not job.failures for job in self._jobs.values())

    # ----------------------------------------------------------------------------------------------------------- events

    def join(self, office_id: str, now: float) -> Actions:
        """The Agent is in an office: fetch its roster."""
        if office_id != self._office_id:
            self.leave()
        self._office_id = office_id
        return self._want(None, None, now)

    def leave(self) -> None:
        """The Agent left its office: forget everything."""
        self._office_id = None
        self._has_roster = False
        self.offers = {}
        self._jobs = {}
        self._started = {}
        self.watched.clear()
        self._unwatched = set()
        self._heard = None

    def lose(self) -> Actions:
        """The connection broke. The offers are kept until the Agent is back and fetches the roster again."""
        # Without its job, a fetch that is running is ignored when it ends: after the Agent is back, its result could be
        # older than that of a new fetch.
        self._jobs = {}
        self._heard = None
        return [Change("disconnected")]

    def hear(self, event: str, data: Any, now: float) -> Actions:
        """Receive a notification."""
        if self._office_id is None or not isinstance(data, dict):
            return []
        notice = cast("dict[str, Any]", data)
        # Notifications of updates name no office. Those that do may belong to the office that the Agent has just left.
        computer = notice.get("computer")
        # An official Server announces a client without a name, after it rejected its join.
        if not isinstance(computer, str) or not computer:
            return []
        if notice.get("office_id", self._office_id) != self._office_id:
            return []
        if event == smcp.ENTER_OFFICE_NOTIFICATION:
            self._note(computer, True)
            return self._greet(computer, now, Change("enter", computer, notice))
        if event == smcp.LEAVE_OFFICE_NOTIFICATION:
            self._note(computer, False)
            self._forget_starts(now)
            return self._dismiss(computer, notice)
        if computer not in self.offers:
            return []  # the roster, which is being fetched, will have it
        if event == smcp.UPDATE_RESOURCE_NOTIFICATION:
            # Only what the program watches: the Computer must not be able to fill its queue with made-up addresses.
            watched = self.watched.find(computer, notice)
            return [Change("resource", computer, notice, watched)] if watched is not None else []
        actions: Actions = []
        # With its tools, an MCP server may have become ready that has a resource to watch.
        if computer in self._unwatched and event in _UPDATES:
            actions += self._want(computer, "watches", now)
        for kind in _UPDATES.get(event, ()):
            if kind in self.keep:
                actions += self._want(computer, kind, now)
            else:
                actions.append(Change(kind, computer))
        return actions

    def begin(self, fetch: Fetch, now: float) -> bool:
        """The delay of a fetch has passed; whether the fetch is still wanted."""
        # Compared by identity: if the Computer left and entered again during the delay, there is a new job for the same
        # key, with a fetch of its own.
        if self._jobs.get((fetch.computer, fetch.kind)) is not fetch.job:
            return False
        fetch.job.started = now
        fetch.job.is_running = True
        fetch.job.is_outdated = False
        # Before the request is sent: a notification that arrives from here on may be newer than the roster.
        if fetch.computer is None:
            self._heard = []
        return True

    def end(self, fetch: Fetch, outcome: Any, now: float) -> Actions:
        """A fetch ended; `outcome` is the value, or the `SMCPError` it failed with."""
        job = fetch.job
        if self._jobs.get((fetch.computer, fetch.kind)) is not job:
            return []
        job.is_wanted = job.is_running = False
        actions: Actions = []
        if isinstance(outcome, SMCPError):
            retry = self._failed(fetch, outcome)
            if retry is not None:
                return [retry]
        else:
            job.failures = 0
            actions += self._store(fetch, outcome, now)
        if job.is_outdated:
            actions += self._want(fetch.computer, fetch.kind, now)
        return actions

    def abandon(self, fetch: Fetch) -> None:
        """A fetch was cancelled; it may be wanted again."""
        if self._jobs.get((fetch.computer, fetch.kind)) is fetch.job:
            del self._jobs[fetch.computer, fetch.kind]

    # -------------------------------------------------------------------------------------------------------- the rules

    def _want(self, computer: str | None, kind: Kind | Literal["watches"] | None, now: float) -> Actions:
        key = computer, kind
        job = self._jobs.get(key) or _Job(self._started.pop(key, -INTERVAL))
        if job.is_wanted and not job.is_running and job.failures:
            job = _Job(job.started)  # it waits for a retry; a notification is a reason to retry at once
        self._jobs[key] = job
        if job.is_wanted:
            job.is_outdated = job.is_running
            return []
        job.is_wanted = True
        # Counted from the start of the last fetch, so that the first notification after a quiet time is fetched at
        # once, and a flood of them at most ten times a second.
        return [Fetch(computer, kind, max(0.0, job.started + INTERVAL - now), job)]

    def _failed(self, fetch: Fetch, error: SMCPError) -> Fetch | None:
        what = f"{fetch.kind} of {fetch.computer}" if fetch.computer is not None else "members of the office"
        if error.code not in WORTH_RETRYING:
            if error.code not in _NO_WONDER:
                logger.warning("cannot fetch the %s: %s (%d)", what, error.message, error.code)
            return None
        job = fetch.job
        job.is_wanted = True
        job.failures += 1
        delay = _RETRIES.after(job.failures)
        logger.warning("cannot fetch the %s: %s (%d); once more in %.1f s", what, error.message, error.code, delay)
        return Fetch(fetch.computer, fetch.kind, delay, job)

    def _store(self, fetch: Fetch, outcome: Any, now: float) -> Actions:
        if fetch.computer is None or fetch.kind is None:
            return self._compare(cast("list[str]", outcome), now)
        # It left while the fetch ran. Storing the value would bring it back into the view.
        if fetch.computer not in self.offers:
            return []
        if fetch.kind == "watches":
            return self._watched_again(fetch.computer, cast("set[Watched]", outcome))
        self.offers[fetch.computer][fetch.kind] = outcome
        return [Change(fetch.kind, fetch.computer, outcome)]

    def _watched_again(self, computer: str, failed: set[Watched]) -> Actions:
        if failed:
            self._unwatched.add(computer)
        else:
            self._unwatched.discard(computer)
        # What changed while nobody watched was not announced, so the program has to look.
        return [
            Change("resource", computer, _resource_notice(computer, *each), each)
            for each in sorted(set(self.watched.at(computer)) - failed, key=str)
        ]

    def _compare(self, present: list[str], now: float) -> Actions:
        """Bring the known Computers in line with the roster.

        The roster and the notifications are ordered by the Server, but the roster is as old as the request's arrival:
        a Computer that entered or left since then is in `_heard`, and that overrules the roster.
        """
        here = dict.fromkeys(present)
        for computer, entered in self._heard or ():
            if entered:
                here[computer] = None
            else:
                here.pop(computer, None)
        actions: Actions = []
        self._forget_starts(now)
        for computer in [known for known in self.offers if known not in here]:
            actions += self._dismiss(computer, self._notice(computer))
        for computer in here:
            # Computers of the first roster were there before the Agent, and did not "enter". One that is missing from a
            # known view entered while the Agent was disconnected, when no notification could tell.
            is_news = self._has_roster and computer not in self.offers
            actions += self._greet(
                computer, now, Change("enter", computer, self._notice(computer)) if is_news else None
            )
        self._heard = None
        self._has_roster = True
        return actions

    def _note(self, computer: str, entered: bool) -> None:
        if self._heard is not None:
            self._heard.append((computer, entered))

    def _greet(self, computer: str, now: float, change: Change | None) -> Actions:
        self.offers.setdefault(computer, {})
        actions: Actions = [change] if change is not None else []
        for kind in self.keep:
            actions += self._want(computer, kind, now)
        # The Computer forgot what this Agent watches when either of them left.
        if self.watched.at(computer):
            actions += self._want(computer, "watches", now)
        return actions

    def _forget_starts(self, now: float) -> None:
        """Forget the fetches that delay nothing any more: Computers may come and go all day, each under a new name."""
        self._started = {key: started for key, started in self._started.items() if started + INTERVAL > now}

    def _dismiss(self, computer: str, notice: Mapping[str, Any]) -> Actions:
        for kind in (*self.keep, "watches"):
            job = self._jobs.pop((computer, kind), None)
            if job is not None:
                self._started[computer, kind] = job.started
        if self.offers.pop(computer, None) is None:
            return []
        return [Change("leave", computer, notice)]

    def _notice(self, computer: str) -> dict[str, Any]:
        return {"office_id": self._office_id, "computer": computer}


def _resource_notice(computer: str, uri: str, mcp_server: str | None) -> dict[str, Any]:
    return {"computer": computer, "uri": uri, **({"mcp_server": mcp_server} if mcp_server is not None else {})}
