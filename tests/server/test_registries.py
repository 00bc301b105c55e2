"""The rules that every registry keeps: in memory, in a cluster on Redis, and in one on the model of Redis.

The simulation of a cluster is worth as much as its model of Redis. What passes here on the model passes on Redis.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any, cast

import pytest

from a2c_smcp.errors import InternalError
from a2c_smcp.protocol.office import Member, Move, Office
from a2c_smcp.protocol.server_effects import Registry
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.messages import read, read_change, read_seat
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.redis import RedisLink
from a2c_smcp.server.registry import MemoryRegistry
from a2c_smcp.server.reply import Reply
from a2c_smcp.types import Role
from tests.simulation.cluster import SimCluster
from tests.simulation.redis_model import PREFIX
from tests.support.programs import cluster_prefix, shared_redis
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

ODD = ["a", "ab", "b", "1 2", "é\n🏢", "{x}:y", "", "\x00"]
"""Ids and names that a careless key or message would confuse."""


class Offices:
    """Two registries of the same offices, for connections of two nodes."""

    def __init__(
        self,
        registries: Sequence[Registry],
        make_sids: Sequence[Callable[[], str]],
        wait: Callable[[Any], Awaitable[Any]],
    ) -> None:
        self._registries = registries
        self._make_sids = make_sids
        self._wait = wait

    async def on(self, node: int, what: str, *arguments: Any) -> Any:
        """The result of a method of one registry."""
        return await self._wait(getattr(self._registries[node], what)(*arguments))

    async def race(self, *commits: tuple[int, Move]) -> list[bool]:
        """Commit several moves at once."""
        started = [self._registries[node].commit(move) for node, move in commits]
        return [await self._wait(result) for result in started]

    async def roster(self, node: int, office_id: str) -> list[str]:
        """The names in an office, as a node sees it that has a member there."""
        # Answers and changes come in order: after this answer, the node knows every earlier change.
        await self.on(node, "office", office_id, "")
        return [member.name for member in await self.on(node, "roster", office_id)]

    def newcomer(self, node: int, name: str, office_id: str, role: Role = "computer") -> Member:
        return Member(self._make_sids[node](), name, role, office_id)

    async def enter(self, node: int, name: str, office_id: str, role: Role = "computer") -> Member:
        """A member that entered an office."""
        member = self.newcomer(node, name, office_id, role)
        seen = await self.on(node, "office", office_id, name)
        assert await self.on(node, "commit", Move(None, member, seen)) is True
        return member


class LoopHost:
    """A host without clients, on the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now(self) -> float:
        return self._loop.time()

    def set_timer(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        return self._loop.call_later(seconds, callback).cancel

    def token_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def tell(self, to: str, event: str, data: Any, skip: str | None = None) -> None:
        pass

    def tell_text(self, to: str, text: str) -> None:
        pass

    def show_out(self, sid: str) -> None:
        pass

    def close_all(self) -> None:
        pass

    def call(self, caller: str, target: str, seconds: float, text: str) -> Reply:
        raise NotImplementedError

    def question(self, subject: str, fields: list[str], body: bytes) -> Reply:
        raise NotImplementedError


async def _now(value: Any) -> Any:
    return value


def in_memory() -> Offices:
    registry, numbers = MemoryRegistry(), count()
    return Offices([registry] * 2, [lambda: f"sid{next(numbers)}"] * 2, _now)


def on_the_model() -> Offices:
    cluster = SimCluster(4711)
    nodes = [cluster.add_node().node for _ in range(2)]

    async def wait(value: Any) -> Any:
        if not isinstance(value, Reply):
            return value
        while not value.done():
            assert cluster.scheduler.step(cluster.scheduler.now + PATIENCE)
        return value.result()

    while not all(node.is_ready for node in nodes):
        assert cluster.scheduler.step(PATIENCE)
    return Offices([node.registry for node in nodes], [node.new_sid for node in nodes], wait)


@asynccontextmanager
async def on_redis() -> AsyncGenerator[tuple[list[RedisLink], list[Node]]]:
    prefix = cluster_prefix()
    links = [RedisLink(RedisAddress.parse(shared_redis().url), prefix) for _ in range(2)]
    nodes = [Node(link, LoopHost()) for link in links]
    for link, node in zip(links, nodes, strict=True):
        await link.start(node)
    await eventually(lambda: all(node.is_ready for node in nodes))
    yield links, nodes
    for link in links:
        await link.stop()


async def _soon(value: Any) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await value if isinstance(value, Reply) else value


@pytest.fixture(params=["memory", "model", "redis"])
async def offices(request: pytest.FixtureRequest) -> AsyncGenerator[Offices]:
    if request.param != "redis":
        yield in_memory() if request.param == "memory" else on_the_model()
        return
    async with on_redis() as (_, nodes):
        yield Offices([node.registry for node in nodes], [node.new_sid for node in nodes], _soon)


# -------------------------------------------------------------------------------------------------------------- members


async def test_a_connection_is_a_member_from_its_join_until_it_is_forgotten(offices: Offices) -> None:
    newcomer = offices.newcomer(0, "pc", "office")
    assert await offices.on(0, "member", newcomer.sid) is None
    assert await offices.on(0, "commit", Move(None, newcomer, Office("office"))) is True
    assert await offices.on(0, "member", newcomer.sid) == newcomer
    outside = Member(newcomer.sid, "pc", "computer", None)
    assert await offices.on(0, "commit", Move(newcomer, outside)) is True
    assert await offices.on(0, "member", newcomer.sid) == outside
    assert await offices.on(0, "commit", Move(outside, None)) is True
    assert await offices.on(0, "member", newcomer.sid) is None


async def test_a_move_of_nobody_is_done(offices: Offices) -> None:
    assert await offices.on(0, "commit", Move(None, None)) is True


async def test_an_office_shows_its_agent_and_the_namesake_to_every_node(offices: Offices) -> None:
    agent = await offices.enter(0, "agent", "office", "agent")
    computer = await offices.enter(1, "pc", "office")
    for node in range(2):
        assert await offices.on(node, "office", "office", "pc") == Office("office", agent, computer)
        assert await offices.on(node, "office", "office", "agent") == Office("office", agent, agent)
        assert await offices.on(node, "office", "office", "other") == Office("office", agent, None)
        assert await offices.on(node, "office", "elsewhere", "pc") == Office("elsewhere", None, None)


async def test_a_seat_is_free_when_its_member_left_or_is_forgotten(offices: Offices) -> None:
    agent = await offices.enter(0, "agent", "office", "agent")
    computer = await offices.enter(1, "pc", "office")
    assert await offices.on(0, "commit", Move(agent, Member(agent.sid, "agent", "agent", None))) is True
    assert await offices.on(1, "commit", Move(computer, None)) is True
    for node in range(2):
        assert await offices.on(node, "office", "office", "pc") == Office("office")
        assert await offices.on(node, "office", "office", "agent") == Office("office")
        assert await offices.roster(node, "office") == []


async def test_ids_and_names_of_any_text_are_kept_apart(offices: Offices) -> None:
    members = {(office, name): await offices.enter(0, name, office) for office in ODD for name in ODD[::-1] if office}
    for (office, name), member in members.items():
        assert await offices.on(1, "office", office, name) == Office(office, None, member)
    for office in filter(None, ODD):
        assert await offices.roster(0, office) == ODD[::-1]
    late = await offices.enter(1, "late", "a")
    assert await offices.roster(1, "a") == [*ODD[::-1], "late"]
    for member in [late, *members.values()]:
        assert await offices.on(int(member is late), "commit", Move(member, None)) is True
    assert await offices.on(0, "offices_with", "a", 9) == []


# --------------------------------------------------------------------------------------------------------------- roster


async def test_a_roster_is_in_order_of_arrival_on_every_node(offices: Offices) -> None:
    names = ["z", "a", "10", "9", "é", "m"]
    members = [await offices.enter(number % 2, name, "office") for number, name in enumerate(names)]
    await offices.enter(1, "agent", "office", "agent")
    for node in range(2):
        assert await offices.roster(node, "office") == [*names, "agent"]
    assert await offices.on(0, "commit", Move(members[0], None)) is True
    again = await offices.enter(0, "z", "office")
    for node in range(2):
        assert await offices.roster(node, "office") == ["a", "10", "9", "é", "m", "agent", "z"]
    assert await offices.on(0, "member", again.sid) == again


async def test_every_node_knows_the_dialect_and_version_of_a_member(offices: Offices) -> None:
    spoken = [("0.4", "0.4.2"), ("s", "0.7.1+local"), ("s", None), ("plain", "0.1.6"), ("plain", None)]
    agent = await offices.enter(1, "agent", "office", "agent")
    members: list[Member] = [agent]
    for number, (dialect, version) in enumerate(spoken):
        member = replace(offices.newcomer(number % 2, f"pc {number}", "office"), dialect=dialect, version=version)
        seen = await offices.on(number % 2, "office", "office", member.name)
        assert await offices.on(number % 2, "commit", Move(None, member, seen)) is True
        members.append(member)
    for node in range(2):
        assert len(await offices.roster(node, "office")) == len(members)
        assert await offices.on(node, "roster", "office") == members
        for member in members[1:]:
            assert await offices.on(node, "office", "office", member.name) == Office("office", agent, member)


async def test_offices_with_a_computer_are_found_up_to_a_number(offices: Offices) -> None:
    members = [await offices.enter(number % 2, "pc", f"office {number}") for number in range(4)]
    await offices.enter(0, "pc", "of an Agent", "agent")
    expected = {f"office {number}" for number in range(4)}
    for node in range(2):
        assert set(await offices.on(node, "offices_with", "pc", 9)) == expected
        few = await offices.on(node, "offices_with", "pc", 2)
        assert len(set(few)) == 2
        assert set(few) < expected
        assert await offices.on(node, "offices_with", "other", 9) == []
    assert await offices.on(0, "commit", Move(members[0], None)) is True
    assert "office 0" not in await offices.on(1, "offices_with", "pc", 9)


# ------------------------------------------------------------------------------------------------------ compare and set


async def test_a_move_decided_on_another_member_is_rejected(offices: Offices) -> None:
    member = await offices.enter(0, "pc", "office")
    stale = Member(member.sid, "pc", "computer", "elsewhere")
    moved = Member(member.sid, "pc", "computer", "new")
    for before in (None, stale):
        assert await offices.on(0, "commit", Move(before, moved, Office("new"))) is False
    assert await offices.on(0, "commit", Move(stale, None)) is False
    assert await offices.on(0, "member", member.sid) == member
    assert await offices.on(1, "office", "new", "pc") == Office("new")
    assert await offices.on(1, "office", "office", "pc") == Office("office", None, member)


async def test_a_move_decided_on_another_office_is_rejected_and_changes_nothing(offices: Offices) -> None:
    agent = await offices.enter(0, "agent", "office", "agent")
    computer = await offices.enter(0, "pc", "office")
    mover = await offices.enter(1, "pc", "before")
    after = Member(mover.sid, "pc", "computer", "office")
    stranger = Member("n0123456789.abcdefghijklmnopqrst", "agent", "agent", "office")
    for seen in (
        Office("office"),
        Office("office", agent, None),
        Office("office", None, computer),
        Office("office", stranger, computer),
    ):
        assert await offices.on(1, "commit", Move(mover, after, seen)) is False, seen
    assert await offices.on(1, "member", mover.sid) == mover
    for node in range(2):
        assert await offices.on(node, "office", "before", "pc") == Office("before", None, mover)
        assert await offices.on(node, "office", "office", "pc") == Office("office", agent, computer)
    assert await offices.roster(0, "office") == ["agent", "pc"]


async def test_a_move_that_saw_a_member_who_left_is_rejected(offices: Offices) -> None:
    agent = await offices.enter(0, "agent", "office", "agent")
    seen = await offices.on(1, "office", "office", "pc")
    assert await offices.on(0, "commit", Move(agent, None)) is True
    newcomer = offices.newcomer(1, "pc", "office")
    assert await offices.on(1, "commit", Move(None, newcomer, seen)) is False
    assert await offices.on(1, "member", newcomer.sid) is None
    assert await offices.on(1, "commit", Move(None, newcomer, Office("office"))) is True


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1)], ids=["one node", "two nodes"])
@pytest.mark.parametrize("roles", [("computer", "computer"), ("agent", "agent"), ("agent", "computer")])
async def test_of_two_moves_to_one_seat_at_once_one_is_applied(
    offices: Offices, nodes: tuple[int, int], roles: tuple[Role, Role]
) -> None:
    # Two Agents want the one seat under different names; others want the same name.
    names = ("one", "other") if roles == ("agent", "agent") else ("same", "same")
    rivals = [
        offices.newcomer(node, name, "office", role) for node, name, role in zip(nodes, names, roles, strict=True)
    ]
    moves = [(node, Move(None, rival, Office("office"))) for node, rival in zip(nodes, rivals, strict=True)]
    results = await offices.race(*moves)
    assert sorted(results) == [False, True]
    winner, loser = rivals[results.index(True)], rivals[results.index(False)]
    for node in range(2):
        office = await offices.on(node, "office", "office", winner.name)
        assert office.namesake == winner
        assert office.agent == (winner if winner.role == "agent" else None)
    assert await offices.on(nodes[results.index(False)], "member", loser.sid) is None
    assert await offices.roster(nodes[results.index(True)], "office") == [winner.name]


async def test_different_names_at_once_are_both_seated(offices: Offices) -> None:
    rivals = [offices.newcomer(number % 2, f"pc{number}", "office") for number in range(10)]
    results = await offices.race(*((n % 2, Move(None, rival, Office("office"))) for n, rival in enumerate(rivals)))
    assert all(results)
    for node in range(2):
        assert sorted(await offices.roster(node, "office")) == sorted(rival.name for rival in rivals)


# ---------------------------------------------------------------------------------------------------------------- moves


async def test_a_move_between_offices_frees_one_seat_and_takes_the_other(offices: Offices) -> None:
    stays = await offices.enter(1, "stays", "old")
    resident = await offices.enter(1, "resident", "new")
    mover = await offices.enter(0, "pc", "old")
    after = Member(mover.sid, "laptop", "computer", "new")
    assert await offices.on(0, "commit", Move(mover, after, Office("new"))) is True
    assert await offices.on(0, "member", mover.sid) == after
    for node in range(2):
        assert await offices.on(node, "office", "old", "pc") == Office("old")
        assert await offices.on(node, "office", "new", "laptop") == Office("new", None, after)
        assert await offices.on(node, "offices_with", "pc", 9) == []
        assert await offices.on(node, "offices_with", "laptop", 9) == ["new"]
    assert await offices.roster(1, "old") == [stays.name]
    for node in range(2):
        assert await offices.roster(node, "new") == [resident.name, "laptop"]


async def test_members_that_swap_offices_at_once_both_arrive(offices: Offices) -> None:
    one, other = await offices.enter(0, "one", "a"), await offices.enter(1, "other", "b")
    moved = [Member(one.sid, "one", "computer", "b"), Member(other.sid, "other", "computer", "a")]
    results = await offices.race((0, Move(one, moved[0], Office("b"))), (1, Move(other, moved[1], Office("a"))))
    assert results == [True, True]
    assert [await offices.roster(0, "b"), await offices.roster(1, "a")] == [["one"], ["other"]]


# -------------------------------------------------------------------------------------------------- the model and Redis

Run = Callable[..., Awaitable[Any]]


class Inbox(list[bytes]):
    """A listener that keeps the messages."""

    def on_connected(self, run_id: str, uptime: float) -> None:
        self.run_id = run_id

    def on_lost(self) -> None:
        pass

    def on_message(self, data: bytes) -> None:
        self.append(data)


async def life_of_a_cluster(run: Run, run_id: str) -> list[Any]:
    """Every script in every situation that has an answer of its own; the answers, without times."""
    said: list[Any] = []

    async def tell(*command: str | int) -> None:
        said.append(await run(*command))

    for node, lease in (("n1", 8000), ("n2", 8000), ("n3", -1000)):
        await run("enlist", node, lease, run_id, 60_000, 0)
    await tell("enlist", "n9", 8000, run_id, 60_000, 1)
    await run("enlist", "n2", 8000, run_id, 60_000, 1)
    await tell("commit", "n1", "n1.a", "agent", "", "", "office", "agent", "", "", "")
    await tell("commit", "n2", "n2.b", "computer", "", "", "office", "pc é", "n1.a", "", "0.4 0.4.0")
    await tell("commit", "n2", "n2.c", "computer", "", "", "office", "laptop", "n1.a", "", "")
    await tell("commit", "n3", "n3.d", "computer", "", "", "office", "pc é", "n1.a", "", "")
    await tell("commit", "n9", "n9.e", "computer", "", "", "office", "other", "n1.a", "", "")
    await tell("commit", "n3", "n3.d", "computer", "", "", "office", "other", "n1.a", "", "0.4 0.4.0")
    await tell("commit", "n2", "n2.c", "computer", "office", "laptop", "elsewhere", "laptop", "", "", "")
    await tell("commit", "n2", "n2.c", "computer", "elsewhere", "laptop", "", "", "", "", "")
    await tell("look", "n1", "office", "pc é")
    await tell("look", "n1", "nowhere", "pc é")
    await tell("restate", "n2", 2, "n2.b", "n2.unknown")
    await tell(
        "restate",
        "n2",
        0,
        "office",
        "pc é",
        "n2.b",
        "computer",
        "s 0.7",
        "office",
        "other",
        "n2.x",
        "computer",
        "plain 0.1.6",
    )
    await tell("restate", "n2", 0, "office", "second", "n2.y", "agent", "", "office", "agent", "n2.z", "computer", "")
    await tell("office", "n1", "office")
    expired: list[Any] = []
    for _ in range(3):
        answer = await run("beat", "n1", 8000, 1, "", *expired)
        said.append((answer[1:6], answer[6::3], answer[8::3]))
        expired = [part for node, end in zip(answer[6::3], answer[7::3], strict=True) for part in (node, end)][:2]
    await tell("beat", "n3", 8000, 1, "")
    await tell("retire", "n2", 1)
    await tell("retire", "n2", 1)
    await tell("look", "n1", "office", "pc é")
    said.append((await run("beat", "n1", 8000, 1, "", "n2", "1"))[1:6])
    return said


async def test_scripts_answer_and_announce_on_the_model_as_on_redis() -> None:
    model = SimCluster(1).redis
    expected: list[bytes] = []
    model.subscribers[f"{PREFIX}:inbox:n1"] = expected.append

    async def run(script: str, node: str, *arguments: Any) -> Any:
        return model.run(script, node, 1, *arguments)

    link, heard = RedisLink(RedisAddress.parse(shared_redis().url), cluster_prefix()), Inbox()
    await link.start(heard)
    link.subscribe("n1")
    try:
        on_redis = await life_of_a_cluster(lambda *command: _soon(link.run(*command)), heard.run_id)
        assert on_redis == await life_of_a_cluster(run, model.run_id)
        assert heard == expected
        assert len(expected) > 10
    finally:
        await link.stop()


async def test_a_node_of_an_older_version_is_told_of_seats_as_it_reads_them() -> None:
    cluster = SimCluster(1)
    model, told = cluster.redis, dict[str, list[bytes]]()
    for node in ("n1", "n2", "n3"):
        model.subscribers[f"{PREFIX}:inbox:{node}"] = told.setdefault(node, []).append
        model.run("enlist", node, 1, 8000, model.run_id, 60_000, 0)
        model.run("commit", node, 1, f"{node}.a", "computer", "", "", "office", f"pc of {node}", "", "", "")
    # The scripts of an older version write none of these.
    del model.tables[f"{PREFIX}:formats"]["n2"]
    model.run("commit", "n1", 1, "n1.b", "computer", "", "", "office", "new", "", "", "0.4 0.4.0")
    assert told["n2"][-1] == b"+ 6 4 n1.b computer\noffice" + b"new"
    assert told["n3"][-1] == b"+ 6 4 n1.b computer 0.4 0.4.0\noffice" + b"new"
    older = Member("n1.b", "new", "computer", "office")
    assert read_change(read(told["n2"][-1])).member == older
    assert read_change(read(told["n3"][-1])).member == replace(older, dialect="0.4", version="0.4.0")


async def test_a_member_of_an_older_node_is_plain_whoever_had_the_name_before() -> None:
    model = SimCluster(1).redis
    model.run("enlist", "n1", 1, 8000, model.run_id, 60_000, 0)
    model.run("commit", "n1", 1, "n1.a", "computer", "", "", "office", "pc", "", "", "0.4 0.4.0")
    # An older node replaced the member; its scripts leave the table of dialects as it is.
    model.tables[f"{PREFIX}:office:office"]["pc"] = "7 n2.b computer"
    assert model.run("look", "n1", 1, "office", "pc") == ["", "", "", "7 n2.b computer", ""]
    assert model.run("office", "n1", 1, "office") == ["pc", "7 n2.b computer", ""]
    assert read_seat("office", "pc", "7 n2.b computer").member == Member("n2.b", "pc", "computer", "office")


class Connections(Inbox):
    """Counts the connections of a link."""

    def __init__(self) -> None:
        self.made: asyncio.Queue[str] = asyncio.Queue()

    def on_connected(self, run_id: str, uptime: float) -> None:
        self.made.put_nowait(run_id)


async def test_a_move_whose_answer_was_lost_is_undone_when_the_node_is_back() -> None:
    link, heard = RedisLink(RedisAddress.parse(shared_redis().url), cluster_prefix()), Inbox()
    await link.start(heard)
    try:
        await link.run("enlist", "n1", 8000, heard.run_id, 60_000, 0)
        await link.run("commit", "n1", "n1.a", "computer", "", "", "old", "pc", "", "", "")
        await link.run("commit", "n1", "n1.a", "computer", "old", "pc", "new", "pc", "", "", "")
        assert await link.run("restate", "n1", 0, "old", "pc", "n1.a", "computer", "") == []
        assert (await link.run("look", "n1", "new", "pc"))[3] == ""
        assert "n1.a" in (await link.run("look", "n1", "old", "pc"))[3]
    finally:
        await link.stop()


async def test_what_arrives_late_from_a_replaced_connection_changes_nothing() -> None:
    address, prefix = RedisAddress.parse(shared_redis().url), cluster_prefix()
    old, new, heard = RedisLink(address, prefix), RedisLink(address, prefix), Connections()
    await old.start(Inbox())
    await new.start(heard)
    try:
        async with asyncio.timeout(20):
            await heard.made.get()
            new.reset()
            run_id = await heard.made.get()
        seat = ("n1.a", "computer", "", "", "office", "pc", "", "", "")
        await old.run("enlist", "n1", 8000, run_id, 60_000, 0)
        await new.run("enlist", "n1", 8000, run_id, 60_000, 1)
        assert await old.run("enlist", "n1", 8000, run_id, 60_000, 1) == "fenced"
        assert await old.run("commit", "n1", *seat) == "fenced"
        assert await old.run("beat", "n1", 8000, 1, "") == "fenced"
        assert await old.run("restate", "n1", 0, "office", "pc", "n1.a", "computer", "") == []
        assert await new.run("look", "n1", "office", "pc") == ["", "", "", "", ""]
        assert (await new.run("commit", "n1", *seat))[0] == "pc"
    finally:
        await old.stop()
        await new.stop()


# -------------------------------------------------------------------------------------------------------- without Redis


async def test_a_question_that_redis_does_not_answer_fails_as_an_error_of_the_protocol() -> None:
    async with on_redis() as (links, nodes):
        registry = nodes[0].registry
        member = Member(nodes[0].new_sid(), "pc", "computer", "office")
        asked = [registry.office("office", "pc"), registry.offices_with("pc", 9)]
        asked.append(cast("Reply", registry.commit(Move(None, member, Office("office")))))
        links[0].reset()
        for reply in asked:
            with pytest.raises(InternalError, match="try again"):
                await _soon(reply)
