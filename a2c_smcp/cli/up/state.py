"""What is known of the office while `a2c up` runs: told by the parts, shown to the person."""

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
    """Something that happened."""

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
    """Who is there, how the MCP servers are, and what happened last. `on_event` and `on_change` are told of news."""

    computer: str
    on_event: Callable[[Event], None]
    on_change: Callable[[], None]
    is_serving: bool = False
    agent: str | None = None
    computers: tuple[str, ...] = ()
    servers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    events: deque[Event] = field(default_factory=lambda: deque[Event](maxlen=KEPT))

    @property
    def is_complete(self) -> bool:
        """Whether everything that can be there is: nothing is starting any more."""
        starting = any(server["state"] in ("starting", "restarting") for server in self.servers)
        return self.is_serving and self.computer in self.computers and bool(self.servers) and not starting

    def take(self, report: Report) -> None:
        """A part tells something."""
        match report["kind"]:
            case "ready":
                self.is_serving = True
            case "members":
                self._see_members([(role, name) for role, name in report["members"]])
            case "servers":
                self._see_servers(report["servers"])
            case "call":
                self._see_call(report)
            case _:
                raise ValueError(f"nobody knows reports of kind {report['kind']}")
        self.on_change()

    def lose_server(self, why: str) -> None:
        """The Server's process died; everybody is out."""
        self.is_serving = False
        self.agent, self.computers = None, ()
        self.happen(f"the Server died ({why}); it is started again", "warning")

    def lose_computer(self, why: str) -> None:
        """The Computer's process died, and its MCP servers with it."""
        self.servers = []
        self.happen(f"the Computer died ({why}); it is started again", "warning")

    def happen(
        self,
        text: str,
        outcome: Literal["ok", "failed", "warning", "news"] = "news",
        seconds: float | None = None,
        note: str = "",
    ) -> None:
        """Remember and tell an event."""
        line = printable(" ".join(text.split()))[:LONGEST_TEXT]  # one line, whatever others put into it
        event = Event(datetime.now(), line, outcome, seconds, note)
        self.events.append(event)
        self.on_event(event)
        self.on_change()

    def _see_members(self, members: list[tuple[str, str]]) -> None:
        agent = next((name for role, name in members if role == "agent"), None)
        computers = tuple(name for role, name in members if role == "computer")
        before = {*self.computers, *([self.agent] if self.agent is not None else [])}
        after = {*computers, *([agent] if agent is not None else [])}
        self.agent, self.computers = agent, computers
        for name in sorted(after - before):
            self.happen(f"{name} came ({'Agent' if name == agent else 'Computer'})")
        for name in sorted(before - after):
            self.happen(f"{name} left")

    def _see_servers(self, servers: list[dict[str, Any]]) -> None:
        before = {server["name"]: server["state"] for server in self.servers}
        self.servers = servers
        for server in servers:  # of the others the Computer's log tells
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
    """What an Agent did."""
    match subject:
        case "tool_name":
            return f"called {what}"
        case "uri":
            return f"read {what.partition('?')[0]}"
        case _:
            return f"listed the documents about {what}" if what else "listed the documents"
