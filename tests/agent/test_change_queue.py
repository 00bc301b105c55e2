"""The changes that wait for a slow reader."""

from __future__ import annotations

from a2c_smcp.agent.change_queue import ChangeQueue
from a2c_smcp.protocol.upkeep import Change

LOST, BACK = Change("disconnected"), Change("rejoined")


def drained(queue: ChangeQueue) -> list[Change]:
    return [change for _ in range(len(queue)) if (change := queue.take()) is not None]


def test_a_connection_that_flaps_leaves_one_loss_and_one_return() -> None:
    queue = ChangeQueue()
    for _ in range(1_000):
        queue.put(LOST)
        queue.put(BACK)
    assert drained(queue) == [LOST, BACK]


def test_a_loss_after_an_unread_return_changes_nothing_for_the_reader() -> None:
    queue = ChangeQueue()
    queue.put(LOST)
    assert queue.take() == LOST
    queue.put(BACK)
    queue.put(LOST)
    assert queue.take() is None
    queue.put(BACK)
    assert drained(queue) == [BACK]


def test_a_return_that_was_read_is_followed_by_the_next_loss() -> None:
    queue = ChangeQueue()
    queue.put(BACK)
    assert queue.take() == BACK
    queue.put(LOST)
    assert drained(queue) == [LOST]
