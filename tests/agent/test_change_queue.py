"""The changes that wait for a slow reader."""

from __future__ import annotations

from a2c_smcp.agent.change_queue import ChangeQueue
from a2c_smcp.protocol.upkeep import Change, Upkeep

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


def test_made_up_servers_in_updates_leave_one_change_for_each_watch() -> None:
    upkeep, queue = Upkeep(), ChangeQueue()
    upkeep.join("office", 0.0)
    upkeep.hear("notify:enter_office", {"computer": "pc"}, 0.0)
    for server in (None, "s"):
        upkeep.watched.begin("pc", ("memo://notes", server))
    for server in (*(f"made-up-{number}" for number in range(1_000)), "s"):
        notice = {"computer": "pc", "uri": "memo://notes", "mcp_server": server}
        for change in upkeep.hear("notify:update_resource", notice, 0.0):
            assert isinstance(change, Change)
            queue.put(change)
    assert [change.data["mcp_server"] for change in drained(queue)] == ["made-up-999", "s"]
