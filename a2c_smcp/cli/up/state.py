"""The state of the office while `a2c up` runs, made from the reports of its processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from a2c_smcp.cli.up.process import Report
from a2c_smcp.utils.text import printable

KEPT = 50
LONGEST_TEXT = 300


@dataclass(frozen=True)
class Event:
    """One event in the office."""

    when: datetime
    text: str
    outcome: Literal["ok", "failed", "warning", "news"] = "news"
    seconds: float | None = None
    note: str = ""

    def to_line(self) -> str:
        """The event in one line."""
        took = f" after {self.seconds * 1000:.0f} ms" if self.seconds is not None else ""
        end = {"ok": f": ok{took}", "failed": f": {self.note}{took}"}.get(self.outcome, "")
        return f"{self.when:%H:%M:%S}  {self.text}{end}"


@dataclass
class OfficeState:
    """The members, the states of the MCP servers, and the last events. Calls `on_event` and `on_change`."""

    computer: str
    on_event: Callable[[Event], None]
    on_change: Callable[[], None]
    is_serving: bool = False
    agent: str | None = None
    computers: tuple[str, ...] = ()
    servers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    login_token: str | None = None
    """What the next login to the console needs; None until the Server tells."""
    owner_login_url: str | None = None
    """Where the next login to the owner's page of the Computer is; None until the Computer tells."""
    events: deque[Event] = field(default_factory=lambda: deque[Event](maxlen=KEPT))

    @property
    def is_complete(self) -> bool:
        """Whether the Server and the Computer are there and no MCP server is starting. Failed ones do not count."""
        starting = any(server["state"] in ("starting", "restarting") for server in self.servers)
        return self.is_serving and self.computer in self.computers and bool(self.servers) and not starting

    def take(self, report: Report) -> None:
        """Take in a report of a process."""
        match report["kind"]:
            case "ready":
                self.is_serving = True
            case "members":
                self._see_members([(role, name) for role, name in report["members"]])
            case "servers":
                self._see_servers(report["servers"])
            case "call":
                self._see_call(report)
            case "console":
                self.login_token = report["token"]
            case "logout":  # for the Computer: the supervisor passes it on
                return
            case "owner":
                self.owner_login_url = report["url"]
            case _:
                raise ValueError(f"unknown kind of report: {report['kind']}")
        self.on_change()

    def lose_server(self, why: str) -> None:
        """The Server's process died, and with it all connections."""
        self.is_serving = False
        self.login_token = None
        self.agent, self.computers = None, ()
        self.happen(f"the Server died ({why}); restarting it", "warning")

    def lose_computer(self, why: str) -> None:
        """The Computer's process died, and with it its MCP servers."""
        # Its seat in the office is not cleared here: the Server reports the leave when it notices the connection.
        self.servers = []
        self.owner_login_url = None
        self.happen(f"the Computer died ({why}); restarting it", "warning")

    def happen(
        self,
        text: str,
        outcome: Literal["ok", "failed", "warning", "news"] = "news",
        seconds: float | None = None,
        note: str = "",
    ) -> None:
        """Record an event."""
        # Names, tool names and log lines come from other programs: they must not break the display with line breaks or
        # control characters.
        line = printable(" ".join(text.split()))[:LONGEST_TEXT]
        event = Event(datetime.now(), line, outcome, seconds, note)
        self.events.append(event)
        self.on_event(event)
        self.on_change()

    def _see_members(self, members: list[tuple[str, str]]) -> None:
        # A report has all members, not the difference, because a child drops reports when its queue is full.
        agent = next((name for role, name in members if role == "agent"), None)
        computers = tuple(name for role, name in members if role == "computer")
        before = {*self.computers, *([self.agent] if self.agent is not None else [])}
        after = {*computers, *([agent] if agent is not None else [])}
        self.agent, self.computers = agent, computers
        for name in sorted(after - before):
            self.happen(f"{name} joined ({'Agent' if name == agent else 'Computer'})")
        for name in sorted(before - after):
            self.happen(f"{name} left")

    def _see_servers(self, servers: list[dict[str, Any]]) -> None:
        before = {server["name"]: server["state"] for server in self.servers}
        self.servers = servers
        for server in servers:  # failures and restarts arrive as log records of the Computer
            if server["state"] == "ready" and before.get(server["name"]) != "ready":
                self.happen(f"MCP server {server['name']} is ready")

    def _see_call(self, call: Report) -> None:
        text = f"{call['agent']} {_deed(call['subject'], call['what'])} on {call['computer']}"
        code = call["code"]
        if code is None:
            self.happen(text, "ok", call["seconds"])
        else:
            self.happen(text, "failed", call["seconds"], f"error {code}")


def _deed(subject: str, what: str) -> str:
    """The predicate of a request, such as `called echo`."""
    match subject:
        case "tool_name":
            return f"called {what}"
        case "uri":
            return f"read {what.partition('?')[0]}"
        case _:
            return f"listed the documents about {what}" if what else "listed the documents"
