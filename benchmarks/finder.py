"""The catalogue comes from memory: a page costs little, however many documents there are, and nothing is read twice."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from a2c_smcp import smcp
from benchmarks.agent import measure_round, no_cpu
from benchmarks.servers import cpu_seconds, resident_bytes
from benchmarks.shelves import SERVERS, ShelvedComputer, Shelves, read_plainly, shelved
from benchmarks.support import Row

FIRST_TARGET = 1.3
CPU_TARGET = 5.0
"""Milliseconds of the Computer per request."""
MEMORY_TARGET = 60.0
"""Megabytes."""
SIZE_TARGET = 2.0
PAGE = 20

QUERIES: Mapping[str, dict[str, Any]] = {
    "no filter": {},
    "keywords": {"keywords": ["document 77", "nowhere", "of no document"]},
    "file_type": {"file_type": "pdf"},
}
"""The keywords are looked for in every document, most of them in vain; every document is a PDF."""

_CHANGED = {"title": "something else", "file_type": "docx"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to look at, and how often."""

    documents: int
    starts: int
    """How often all processes are started anew."""
    requests: int
    sizes: tuple[int, ...]
    """Numbers of documents with which a page is measured; the first is the floor of the others."""


FULL = Plan(documents=10_000, starts=3, requests=300, sizes=(1_000, 10_000, 50_000, 200_000))
QUICK = Plan(documents=500, starts=1, requests=40, sizes=(100, 500))


@dataclass(slots=True)
class _Found:
    """What was measured, once for every start."""

    plain: list[float] = field(default_factory=list[float])
    first: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    """By whether the servers have a catalogue."""
    grown: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    """Megabytes from before the first catalogue to after it."""
    held: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    """Megabytes above a Computer whose servers have no documents."""
    cpu: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in QUERIES})
    reads: list[int] = field(default_factory=list[int])


async def measure(plan: Plan, agent_kind: str = "floor") -> list[Row]:
    """The first catalogue, beside a client that does nothing but read; then pages of it, and a change."""
    found = _Found()
    for number in range(plan.starts):
        async with shelved(Shelves(), agent_kind) as computer:
            await _page(computer)
            empty = resident_bytes(computer.process.pid)
        for has_catalogue in (True, False) if number % 2 else (False, True):
            shelves = Shelves(documents=plan.documents, has_catalogue=has_catalogue)
            if not has_catalogue:
                found.plain.append(await read_plainly(shelves))
            async with shelved(shelves, agent_kind) as computer:
                await _measure_first(computer, has_catalogue, plan.documents, empty, found)
                await _measure_known(computer, has_catalogue, plan, found)
    return [*_rows(plan.documents, found), *await _measure_sizes(plan, agent_kind)]


async def _measure_sizes(plan: Plan, agent_kind: str) -> list[Row]:
    """Pages of few and of many documents: of all, of a search that is known, and of one that is new."""
    cpu: dict[str, list[float]] = {}
    for documents in plan.sizes:
        async with shelved(Shelves(documents=documents), agent_kind) as computer:
            await _first_look(computer, documents)
            for name, query in _pages_of(documents).items():
                cpu.setdefault(name, []).append(await _cpu_per_page(computer, query, plan.requests))
    return [
        Row(
            f"get_finder, {name}, {documents:,} documents (floor: {plan.sizes[0]:,})",
            f"{values[0]:.2f} ms",
            f"{value:.2f} ms",
            value / values[0],
            None if name == "a new search" else SIZE_TARGET,
        )
        for name, values in cpu.items()
        for documents, value in zip(plan.sizes[1:], values[1:], strict=True)
    ]


def _pages_of(documents: int) -> dict[str, Callable[[], dict[str, Any]]]:
    numbers = itertools.count()
    return {
        "a page of all": lambda: {"offset": documents // 2},
        "a page of a search": lambda: {"keywords": ["document"], "offset": documents // 2},
        "a new search": lambda: {"keywords": [f"document {next(numbers)}"]},
    }


async def _measure_first(
    computer: ShelvedComputer, has_catalogue: bool, documents: int, empty: int, found: _Found
) -> None:
    before = resident_bytes(computer.process.pid)
    found.first[has_catalogue].append(await _first_look(computer, documents))
    after = resident_bytes(computer.process.pid)
    found.grown[has_catalogue].append((after - before) / 1e6)
    found.held[has_catalogue].append((after - empty) / 1e6)
    expected = SERVERS if has_catalogue else SERVERS + documents
    if computer.reads() != expected:
        raise RuntimeError(f"{computer.reads()} reads instead of {expected}")


async def _measure_known(computer: ShelvedComputer, has_catalogue: bool, plan: Plan, found: _Found) -> None:
    if has_catalogue:
        before = computer.heard()
        for name, query in QUERIES.items():
            found.cpu[name].append(await _cpu_per_page(computer, lambda query=query: query, plan.requests))
        if heard := computer.heard() - before:
            raise RuntimeError(f"MCP servers were asked for what is known: {heard}")
    found.reads.append(await _reads_after_change(computer, plan.documents))


async def _first_look(computer: ShelvedComputer, documents: int) -> float:
    """Seconds until the whole catalogue is there. An answer that came too early is asked for again."""
    began, total = time.perf_counter(), 0
    while total < documents:
        total = (await _page(computer))["total_count"]
    return time.perf_counter() - began


async def _cpu_per_page(computer: ShelvedComputer, query: Callable[[], dict[str, Any]], requests: int) -> float:
    """Milliseconds of the Computer's process."""

    async def ask() -> None:
        await _page(computer, **query())

    await measure_round(ask, requests // 10, 1, no_cpu)
    sample = await measure_round(ask, requests, 1, lambda: cpu_seconds(computer.process.pid))
    return sample.cpu * 1e3


async def _page(computer: ShelvedComputer, **query: Any) -> Any:
    answer = await computer.agent.ask(smcp.GET_FINDER_EVENT, limit=PAGE, **query)
    if len(answer.get("documents", ())) > PAGE or "total_count" not in answer:
        raise RuntimeError(f"not a page of documents: {str(answer)[:300]}")
    return answer


async def _reads_after_change(computer: ShelvedComputer, documents: int) -> int:
    """How many documents are read after one of them changed."""
    fields = {"ref": "d00003", "fields": _CHANGED}
    await computer.agent.call_tool(f"s{SERVERS - 1}_set_document", fields)
    before = computer.reads()
    changed = (await _page(computer, file_type=_CHANGED["file_type"]))["documents"]
    if [document["title"] for document in changed] != [_CHANGED["title"]]:
        raise RuntimeError(f"the document is not what it is now: {changed}")
    if (total := (await _page(computer))["total_count"]) != documents:
        raise RuntimeError(f"{total} documents instead of {documents}")
    return computer.reads() - before


def _rows(documents: int, found: _Found) -> list[Row]:
    what = f"get_finder, {documents:,} documents"
    reads = max(found.reads)
    return [
        *(_row(f"{what}, {name}, CPU", "ms", values, CPU_TARGET) for name, values in found.cpu.items()),
        _first_row(f"{what}, first, by level 1 (floor: plain reads)", found.plain, found.first[False]),
        _first_row(f"{what}, first, by level 0 (floor: plain reads)", found.plain, found.first[True]),
        Row(f"{what}, one changed (ratio: reads)", "-", f"{reads} read", reads, 1.0),
        _row(f"{what}, first, by level 1, memory", "MB", found.grown[False], MEMORY_TARGET),
        _row(f"{what}, first, by level 0, memory", "MB", found.grown[True], MEMORY_TARGET),
        _row(f"{what}, by level 1, memory in all", "MB", found.held[False], MEMORY_TARGET),
        _row(f"{what}, by level 0, memory in all", "MB", found.held[True], MEMORY_TARGET),
    ]


def _row(what: str, unit: str, values: Sequence[float], target: float) -> Row:
    """No floor: the ratio is the number itself."""
    value = median(values)
    return Row(f"{what} (ratio: {unit})", "-", f"{value:.2f} {unit}", value, target)


def _first_row(what: str, floors: Sequence[float], ours: Sequence[float]) -> Row:
    return Row(
        what,
        f"{median(floors) * 1e3:,.0f} ms",
        f"{median(ours) * 1e3:,.0f} ms",
        median(mine / floor for floor, mine in zip(floors, ours, strict=True)),
        FIRST_TARGET,
    )
