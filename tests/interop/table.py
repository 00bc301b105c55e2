"""One Agent and one Computer, of any versions, in an office of their own on any Server."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.interop.seat import THINGS, Seat, SeatError, Seats
from tests.support.waiting import PATIENCE

Form = Literal["async", "sync"]
NAMESPACE = "/smcp"
PICK = {"id": "color", "description": "Which color?", "options": ["red", "green"], "default": "green"}


@dataclass
class Table:
    """What the steps work with. The Agent's id is not the name that it joins with."""

    url: str
    agents: Seat
    computers: Seat
    form: Form
    folder: Path
    number: str
    patience: float = PATIENCE
    credentials: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the Computer connects with."""

    @property
    def office(self) -> str:
        return f"office-{self.number}"

    @property
    def agent(self) -> str:
        """The name that the Agent joins with."""
        return f"agent-{self.number}"

    @property
    def agent_id(self) -> str:
        """The Agent's id, which it puts into its requests."""
        return f"id-{self.number}"

    @property
    def computer(self) -> str:
        return f"pc-{self.number}"

    def ask(self, do: str, /, *args: Any, patience: float | None = None, **kwargs: Any) -> Any:
        """Have the Agent do something, and wait for it."""
        return self.begin(do, *args, **kwargs).result(self.patience if patience is None else patience)

    def begin(self, do: str, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the Agent do something."""
        return self.agents.ask(do, *args, on=self.agent, aside=self.form == "sync", **kwargs)

    def have(self, do: str, /, *args: Any, **kwargs: Any) -> Any:
        """Have the Computer do something, and wait for it."""
        return self.computers.ask(do, *args, on=self.computer, **kwargs).result(self.patience)

    def event(self, event: str, /, **fields: Any) -> Any:
        """Send a request of the protocol, as an Agent sends those that its SDK has no method for."""
        if event.startswith("client:"):
            fields.setdefault("computer", self.computer)
        data = {"agent": self.agent_id, "req_id": uuid.uuid4().hex, **fields}
        return self.ask("call", event, data, namespace=NAMESPACE, timeout=int(self.patience))

    def tool(self, name: str) -> str:
        """A tool as the Computer lists it: some put the name of its MCP server before its own."""
        listed: list[str] = [tool["name"] for tool in self.ask("get_tools_from_computer", self.computer)["tools"]]
        return next(each for each in listed if each.endswith(name))

    def call(self, name: str, params: dict[str, Any], timeout: int = 0) -> dict[str, Any]:
        """Call a tool."""
        return self.ask("emit_tool_call", self.computer, self.tool(name), params, timeout or int(self.patience))

    def hears(self, what: str, condition: Callable[[dict[str, Any]], bool], after: int = 0) -> None:
        """Wait until the Agent is told something."""
        heard = self.agents.heard
        self.agents.wait_for(lambda: any(map(condition, heard(self.agent, what)[after:])), self.patience)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what a peer does without an answer."""
        end = time.monotonic() + self.patience
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("it did not happen")
            time.sleep(0.02)


@contextmanager
def table(
    seats: Seats,
    url: str,
    agent: str,
    computer: str,
    folder: Path,
    *,
    form: Form = "async",
    login: dict[str, Any] | None = None,
) -> Generator[Table]:
    """Make an Agent and a Computer that are not connected yet, and end them afterwards. `login` is for the Agent."""
    number = uuid.uuid4().hex[:8]
    here = Table(url, seats.of("agent", agent), seats.of("computer", computer), form, folder, number)
    identity = {"agent_id": here.agent_id, "office_id": here.office, **(login or {})}
    here.agents.ask("make", here.agent, form, identity, {"reconnection": False}).result(PATIENCE)
    here.computers.ask("make", here.computer, [things()], PICK, {"reconnection": False}).result(PATIENCE)
    try:
        yield here
    finally:
        with suppress(SeatError, TimeoutError):
            here.begin("disconnect").result(PATIENCE)
        with suppress(SeatError, TimeoutError):
            here.have("disconnect")
        # Not waited for: some releases wait for calls that nobody waits for any more.
        here.computers.ask("close", here.computer)


def things() -> dict[str, Any]:
    """The MCP server of every Computer, as each of them configures one."""
    return {
        "name": "things",
        "type": "stdio",
        "disabled": False,
        "forbidden_tools": [],
        "tool_meta": {},
        "default_tool_meta": {"auto_apply": True},
        "server_parameters": {"command": sys.executable, "args": [str(THINGS)], "env": {"COLOR": "${input:color}"}},
    }
