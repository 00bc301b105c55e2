"""What a call costs the Agent that makes it: CPU time of its process, beside a bare Socket.IO client's.

Both have the same Server and the same Computer, which does nothing but echo. An office has one Agent, so they come in
turns, in short rounds; whatever else the machine does falls on both.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.agent import Pair
from benchmarks.agents import AgentProcess, Form, waiting
from benchmarks.computers import computing
from benchmarks.servers import running
from benchmarks.support import Row

CELLS: tuple[tuple[Form, int], ...] = (("async", 1), ("async", 32), ("sync", 1))
TARGET = 1.3


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure."""

    processes: int
    """How often all processes are started anew: the layout of a process makes it faster or slower for good."""
    round_seconds: float
    rounds: int


FULL = Plan(processes=3, round_seconds=0.3, rounds=6)
QUICK = Plan(processes=1, round_seconds=0.15, rounds=2)


def measure(plan: Plan, floor_kind: str = "floor") -> list[Row]:
    """Both forms of the Agent, one call at a time; the one with an event loop also many."""
    pairs: dict[tuple[Form, int], list[Pair]] = {cell: [] for cell in CELLS}
    for _ in range(plan.processes):
        with running("ours") as server, computing("floor", server.port):
            for (form, concurrency), found in pairs.items():
                with waiting(floor_kind, form, server.port) as floor, waiting("ours", form, server.port) as ours:
                    found += _measure_cell(floor, ours, concurrency, plan)
    return [_row(form, concurrency, found) for (form, concurrency), found in pairs.items()]


def _measure_cell(floor: AgentProcess, ours: AgentProcess, concurrency: int, plan: Plan) -> list[Pair]:
    """Rounds in turns; who begins changes too."""
    calls = {agent: _calls_per_round(agent, concurrency, plan) for agent in (floor, ours)}
    pairs: list[Pair] = []
    for number in range(plan.rounds):
        order = (floor, ours) if number % 2 else (ours, floor)
        samples = {agent: agent.run(calls[agent], concurrency) for agent in order}
        pairs.append((samples[floor], samples[ours]))
    return pairs


def _calls_per_round(agent: AgentProcess, concurrency: int, plan: Plan) -> int:
    """Warm up, and take as many calls as fill a round."""
    sample = agent.run(10 * concurrency, concurrency)
    return max(concurrency, int(plan.round_seconds / sample.wall))


def _row(form: Form, concurrency: int, pairs: list[Pair]) -> Row:
    return Row(
        f"emit_tool_call, {form} × {concurrency}, CPU per call",
        f"{median(floor.cpu for floor, _ in pairs) * 1e6:,.0f} µs",
        f"{median(ours.cpu for _, ours in pairs) * 1e6:,.0f} µs",
        median(ours.cpu / floor.cpu for floor, ours in pairs),
        TARGET,
    )
