"""A world in memory for flows: rooms that deliver, peers that answer, and a record of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from a2c_smcp.protocol.dialects.known import PLAIN
from a2c_smcp.protocol.dialects.recognition import SILENT, Greeting
from a2c_smcp.protocol.flow import run
from a2c_smcp.protocol.grants import EVERYTHING, Grant
from a2c_smcp.protocol.handshake import Handshake
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.office import Office
from a2c_smcp.protocol.server import Answer, Request, answer, depart
from a2c_smcp.protocol.server_effects import Call
from a2c_smcp.server.registry import MemoryRegistry

Heard = tuple[str, str, Any]


class MemoryWorld:
    """Runs flows. `heard` holds (sid, event, data) in order."""

    def __init__(self) -> None:
        self.registry = MemoryRegistry()
        self.grants: dict[str, Grant] = {}
        self.rooms: dict[str, set[str]] = {}
        self.heard: list[Heard] = []
        self.asked: list[Heard] = []
        self.limits = Limits()
        self.stacks: dict[str, str] = {}
        self.greetings: dict[str, Greeting] = {}
        self.ended: list[tuple[str, str]] = []
        self.time = 0.0
        self.reply: Callable[[Call], Any] = lambda call: {"from": call.target}

    # Effects that a flow may request.

    def find(self, office_id: str, name: str) -> Office:
        return self.registry.office(office_id, name)

    def grant(self, sid: str) -> Grant:
        return self.grants[sid]

    def handshake(self, sid: str) -> Handshake:
        greeting = self.greetings.get(sid, SILENT)
        stack = self.stacks.get(sid, greeting.stack)
        return Handshake(self.limits.message_bytes, self.limits.tool_timeout, stack, greeting.version)

    def is_connected(self, sid: str) -> bool:
        return sid in self.grants

    def can_be_room(self, sid: str, office_id: str) -> bool:
        return office_id == sid or office_id not in self.grants

    def enter(self, sid: str, office_id: str) -> None:
        if sid not in self.grants:
            raise KeyError(sid)  # as python-socketio
        self.rooms.setdefault(office_id, set()).add(sid)

    def leave(self, sid: str, office_id: str) -> None:
        self.rooms[office_id].discard(sid)

    def notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None) -> None:
        listeners = {to} if to in self.grants else self.rooms.get(to, set())
        self.heard += [(sid, event, data) for sid in sorted(listeners) if sid != skip]

    def call(self, call: Call) -> Any:
        self.asked.append((call.target, call.event, call.data))
        return self.reply(call)

    def end_call(self, caller: str, req_id: str) -> None:
        self.ended.append((caller, req_id))

    def read_ack(self, ack: Any) -> Any:
        return ack

    def size_of(self, ack: Any) -> int:
        return len(json.dumps(ack))

    def now(self) -> float:
        return self.time

    # Actions of a test.

    def connect(self, sid: str, grant: Grant = EVERYTHING, greeting: Greeting = SILENT) -> str:
        self.grants[sid] = grant
        self.greetings[sid] = greeting
        return sid

    def send(self, sid: str, event: str, data: Any = None) -> Answer:
        greeting = self.greetings.get(sid)
        dialect = greeting.dialect if greeting is not None else PLAIN
        return run(answer(Request(event, sid, data, self.limits, dialect=dialect)), self)

    def ask(self, sid: str, event: str, data: Any = None) -> Any:
        return self.send(sid, event, data).ack

    def join(self, sid: str, role: str, name: str, office_id: str) -> Any:
        return self.ask(sid, "server:join_office", {"role": role, "name": name, "office_id": office_id})

    def leave_office(self, sid: str, office_id: str) -> Any:
        return self.ask(sid, "server:leave_office", {"office_id": office_id})

    def disconnect(self, sid: str) -> None:
        del self.grants[sid]
        run(depart(sid), self)
        for room in self.rooms.values():
            room.discard(sid)
