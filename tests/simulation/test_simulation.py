"""Hundreds of random histories of a cluster; and three mistakes, planted on purpose, that such histories find."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from a2c_smcp.protocol.office import Move
from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.redis import script
from a2c_smcp.server.cluster.registry import ClusterRegistry
from a2c_smcp.server.reply import Reply
from tests.simulation.cluster import LEASE, SimNode
from tests.simulation.history import random_history, report, run, shortest

ENOUGH = 200
"""Histories within which a planted mistake has to be found."""


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_no_history_breaks_a_rule(first: int) -> None:
    for seed in range(first, first + 50):
        if run(seed, random_history(seed)):
            pytest.fail(report(seed))


@pytest.mark.parametrize("seed", [5934, 35754, 51069])
def test_histories_that_broke_a_rule_once_do_not_any_more(seed: int) -> None:
    assert run(seed, random_history(seed)) == []


def test_a_history_is_the_same_every_time() -> None:
    assert random_history(7) == random_history(7)


def is_found(make_node: Callable[[SimNode], Node] | None = None, scripts: Callable[[str], str] = script) -> bool:
    return any(run(seed, random_history(seed), make_node, scripts) for seed in range(ENOUGH))


COMPARE = "if sid_in(to, agent) ~= ARGV[11] or sid_in(to, new) ~= ARGV[12] then"


def careless(name: str) -> str:
    """A commit that does not compare."""
    return script(name).replace(COMPARE, "if false then")


def test_a_commit_that_does_not_compare_is_found() -> None:
    assert COMPARE in script("commit")
    assert is_found(scripts=careless)


def test_a_seed_that_breaks_a_rule_is_told_with_its_shortest_history() -> None:
    seed = next(seed for seed in range(ENOUGH) if run(seed, random_history(seed), scripts=careless))
    history = shortest(seed, scripts=careless)
    assert 2 <= len(history) < len(random_history(seed))
    for number in range(len(history)):
        assert not run(seed, history[:number] + history[number + 1 :], scripts=careless), "every step is needed"
    first, *steps = report(seed, scripts=careless).splitlines()
    assert first == f"seed {seed}:"
    assert steps == [*map(str, history), *run(seed, history, scripts=careless)]
    assert len(steps) > len(history), "the rule that it breaks"


class HastyRegistry(ClusterRegistry):
    """Announces a newcomer before Redis has confirmed its seat."""

    def commit(self, move: Move) -> bool | Reply:
        if move.after is not None and move.after.office_id is not None:
            self._node.announce(move.after, is_taken=True)
        return super().commit(move)


def test_an_announcement_before_the_commit_is_found() -> None:
    def make_node(owner: SimNode) -> Node:
        node = Node(owner.link, owner, LEASE)
        node.registry = HastyRegistry(node)
        return node

    assert is_found(make_node)


class UnfencedNode(Node):
    """Goes on after its lease ended."""

    @property
    def is_serving(self) -> bool:
        return self._is_enlisted


def test_a_lease_that_does_not_fence_is_found() -> None:
    fence = "if not is_current() then"
    assert fence in script("commit")
    assert is_found(
        lambda owner: UnfencedNode(owner.link, owner, LEASE), lambda name: script(name).replace(fence, "if false then")
    )
