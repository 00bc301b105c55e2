"""Joining does not scan the office: a join and a leave cost the same in a small office and in a large one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from a2c_smcp import smcp
from a2c_smcp.protocol.flow import run
from a2c_smcp.protocol.grants import EVERYTHING, Grant
from a2c_smcp.protocol.handshake import Handshake
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.office import Office
from a2c_smcp.protocol.server import Request, answer
from a2c_smcp.protocol.server_effects import Call
from a2c_smcp.server.registry import MemoryRegistry
from benchmarks.support import Row

SMALL, LARGE = 10, 10_000
TARGET = 1.5

_BATCH = 300
_LIMITS = Limits()


class SilentWorld:
    """Members and offices, and nobody to tell: what remains is the decision and the registry."""

    def __init__(self) -> None:
        self.registry = MemoryRegistry()

    def find(self, office_id: str, name: str) -> Office:
        return self.registry.office(office_id, name)

    def grant(self, sid: str) -> Grant:
        return EVERYTHING

    def handshake(self, sid: str) -> Handshake:
        return Handshake(_LIMITS.message_bytes, _LIMITS.tool_timeout)

    def is_connected(self, sid: str) -> bool:
        return True

    def can_be_room(self, sid: str, office_id: str) -> bool:
        return True

    def enter(self, sid: str, office_id: str) -> None:
        pass

    def leave(self, sid: str, office_id: str) -> None:
        pass

    def notify(self, to: str, event: str, data: Mapping[str, Any], skip: str | None, office_id: str | None) -> None:
        pass

    def call(self, call: Call) -> Any:
        raise RuntimeError("nobody is called by joining")

    def end_call(self, caller: str, req_id: str) -> None:
        pass

    def read_ack(self, ack: Any) -> Any:
        return ack

    def size_of(self, ack: Any) -> int:
        return 0

    def now(self) -> float:
        return 0.0


def measure(batches: int) -> list[Row]:
    """The best of many batches that take turns: a disturbance only ever adds."""
    worlds = {size: _world_of(size) for size in (SMALL, LARGE)}
    best = dict.fromkeys(worlds, float("inf"))
    for _ in range(batches):
        for size, world in worlds.items():
            best[size] = min(best[size], _come_and_go(world))
    small, large = best[SMALL], best[LARGE]
    what = f"join and leave, office of {SMALL} (floor) and of {LARGE:,}"
    return [Row(what, _micro(small), _micro(large), large / small, TARGET)]


def _world_of(size: int) -> SilentWorld:
    world = SilentWorld()
    for number in range(size):
        _join(world, f"sid-{number}", f"computer-{number}")
    return world


def _come_and_go(world: SilentWorld) -> float:
    """Seconds of a join and a leave."""
    started = time.perf_counter()
    for _ in range(_BATCH):
        _join(world, "sid", "newcomer")
        _ask(world, smcp.LEAVE_OFFICE_EVENT, "sid", {"office_id": "office"})
    return (time.perf_counter() - started) / _BATCH


def _join(world: SilentWorld, sid: str, name: str) -> None:
    _ask(world, smcp.JOIN_OFFICE_EVENT, sid, {"role": "computer", "name": name, "office_id": "office"})


def _ask(world: SilentWorld, event: str, sid: str, data: dict[str, Any]) -> None:
    outcome = run(answer(Request(event, sid, data, _LIMITS)), world)
    if outcome.ack != (True, None):
        raise RuntimeError(f"{event} refused: {outcome.ack}")


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs"
