"""Members of different dialects in one office: what the Server asks, and what it answers, without sockets."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest

from a2c_smcp import __version__
from a2c_smcp.protocol.dialects.recognition import recognise
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.server_effects import Call, CallEnded, CallerGone
from tests.support.world import MemoryWorld

REQUEST: dict[str, Any] = {"agent": "a", "computer": "c", "req_id": "r"}
CALL: dict[str, Any] = {**REQUEST, "tool_name": "t", "params": {}, "timeout": 7}
STACK = f"a2c_stack={__version__}"
QUERIES = {
    "s": STACK, "plain": "", "0.1": "EIO=4&transport=polling", "0.2": "a2c_version=0.2.0", "0.3": "a2c_version=0.3.1",
    "0.4": "a2c_version=0.4.0", "0.5": "a2c_version=0.5.0",
}  # fmt: skip
BINARY = bytes(range(256)) * 400


def office(agent: str, computer: str, **limits: int) -> MemoryWorld:
    """An office `o` with the Agent `a` (sid A) and the Computer `c` (sid C), of these dialects."""
    world = MemoryWorld()
    world.limits = Limits(**limits)
    for sid, role, dialect in (("A", "agent", agent), ("C", "computer", computer)):
        world.connect(sid, greeting=recognise(QUERIES[dialect], "Python/3.11 aiohttp/3.9"))
        world.join(sid, role, sid.lower(), "o")
    world.heard.clear()
    return world


# ---------------------------------------------------------------------------------------------------------------- rooms


@pytest.mark.parametrize("dialect", QUERIES)
def test_a_member_has_its_dialect_and_its_version_in_the_roster(dialect: str) -> None:
    world = office("plain", dialect)
    member = world.registry.member("C")
    assert member is not None
    assert member.dialect == dialect
    listed = {**REQUEST, "office_id": "o"}
    agent, computer = world.ask("A", "server:list_room", listed)["sessions"]
    assert agent == {"sid": "A", "name": "a", "role": "agent", "office_id": "o"}
    expected = {"s": {"a2c_stack": __version__}, "plain": {}, "0.1": {}}.get(
        dialect, {"a2c_version": QUERIES[dialect][12:]}
    )
    assert computer == {"sid": "C", "name": "c", "role": "computer", "office_id": "o", **expected}


def test_a_member_that_leaves_and_joins_again_keeps_its_dialect() -> None:
    world = office("plain", "0.4")
    assert world.leave_office("C", "o") == (True, None)
    assert world.join("C", "computer", "other", "p") == (True, None)
    assert (member := world.registry.member("C")) is not None
    assert (member.dialect, member.version) == ("0.4", "0.4.0")


def test_0_5_joins_and_leaves_with_an_empty_ack_and_flat_errors() -> None:
    world = office("0.5", "0.5")
    world.connect("X", greeting=recognise(QUERIES["0.5"]))
    assert world.join("X", "agent", "x", "o") == {
        "code": 4101, "message": "office 'o' already has an Agent: 'a'", "details": {"office_id": "o", "role": "agent"}
    }  # fmt: skip
    assert world.join("X", "computer", "c", "o")["code"] == 4101
    assert world.join("A", "agent", "a", "p")["details"] == {"office_id": "o"}
    assert world.join("A", "agent", "a", "p")["code"] == 4106
    assert world.join("A", "computer", "a", "p")["code"] == 403
    assert world.join("X", "nobody", "c", "o")["code"] == 400
    assert world.leave_office("X", "o")["code"] == 4103
    assert world.join("X", "computer", "x", "o") is None
    assert world.leave_office("X", "o") is None


@pytest.mark.parametrize("dialect", ["plain", "0.2", "0.3", "0.4"])
def test_older_dialects_join_and_leave_with_two_values(dialect: str) -> None:
    world = office(dialect, dialect)
    assert world.join("A", "agent", "a", "p")[0] is False
    assert world.leave_office("C", "o") == (True, None)
    assert world.join("C", "computer", "a", "o") == (False, "the name 'a' is taken in office 'o' (403)")


# ------------------------------------------------------------------------------------------------------------- requests


@pytest.mark.parametrize("agent", QUERIES)
@pytest.mark.parametrize("computer", QUERIES)
def test_a_call_is_passed_on_as_it_is_in_both_directions(agent: str, computer: str) -> None:
    world = office(agent, computer)
    result: dict[str, Any] = {"content": [], "isError": False}
    world.reply = lambda call: result
    assert world.ask("A", "client:tool_call", CALL) is result
    [(_, event, data)] = world.asked
    assert event == "client:tool_call"
    if computer == "s" and agent not in ("s", "plain", "0.1"):
        assert data == {**CALL, "max_inline_bytes": 32 * 1024}
    else:
        assert data is CALL


def test_an_agent_that_says_what_stays_inline_is_believed() -> None:
    world = office("0.4", "s")
    world.ask("A", "client:tool_call", {**CALL, "max_inline_bytes": 7})
    assert world.asked[0][2]["max_inline_bytes"] == 7


@pytest.mark.parametrize(("sent", "asked"), [(30.0, 30), (2.5, 3), (0.1, 1), (3600.0, 3600)])
def test_a_timeout_that_is_not_whole_is_rounded_up(sent: float, asked: int) -> None:
    world = office("plain", "s")
    waits: list[float] = []
    world.reply = lambda call: waits.append(call.timeout)
    world.ask("A", "client:tool_call", {**CALL, "timeout": sent})
    timeout = world.asked[0][2]["timeout"]
    assert (timeout, type(timeout)) == (asked, int)
    assert waits == [asked + 5]


@pytest.mark.parametrize("timeout", [0.0, -0.5, 3600.5, float("inf"), float("nan")])
def test_a_timeout_outside_the_limits_is_400_also_as_a_number_that_is_not_whole(timeout: float) -> None:
    world = office("plain", "s")
    assert world.ask("A", "client:tool_call", {**CALL, "timeout": timeout})["error"]["code"] == 400
    assert world.asked == []


@pytest.mark.parametrize("computer", ["s", "plain", "0.2", "0.4"])
@pytest.mark.parametrize("agent", ["s", "plain", "0.2", "0.4"])
def test_a_computer_that_cannot_answer_is_not_asked(agent: str, computer: str) -> None:
    world = office(agent, computer)
    official = ("0.2", "0.4")
    for event, knows in {
        "client:get_finder": ("s", "plain"),
        "client:get_blob": ("s", "0.2", "0.4", *(["plain"] if agent in ("s", "plain") else [])),
        "client:put_blob": ("s", "0.4", *(["plain"] if agent in ("s", "plain") else [])),
    }.items():
        world.asked.clear()
        fields = {"blob_handle": "h", "chunk_offset": 0, "eof": True, "blob": ""}
        ack = world.ask("A", event, {**REQUEST, **fields})
        if computer in knows or agent == computer:
            assert [asked[1] for asked in world.asked] == [event]
        else:
            assert world.asked == []
            assert ack is None if agent not in official else ack["code"] in (404, 4018, 4019)


@pytest.mark.parametrize("agent", QUERIES)
@pytest.mark.parametrize("computer", QUERIES)
def test_an_empty_ack_becomes_an_answer_that_official_agents_read(agent: str, computer: str) -> None:
    world = office(agent, computer)
    world.reply = lambda call: None
    ack = world.ask("A", "client:get_desktop", REQUEST)
    if agent in ("s", "plain", "0.1"):
        assert ack is None
    else:
        assert (ack["code"], ack["details"]) == (404, {"event": "client:get_desktop"})
        called = world.ask("A", "client:tool_call", CALL)
        assert called["isError"] is True
        assert called["code"] == 404


def test_an_error_between_two_of_one_dialect_is_passed_on_as_it_is() -> None:
    error = {"code": 4001, "message": "no", "details": {"code": 1}, "more": 2}
    world = office("0.4", "0.4")
    world.reply = lambda call: error
    assert world.ask("A", "client:get_tools", REQUEST) is error


def test_errors_and_lists_are_translated_on_the_way() -> None:
    world = office("s", "0.4")
    world.reply = lambda call: {"code": 4014, "message": "no", "mcp_server": "git"}
    expected = {"error": {"code": 4014, "message": "no", "details": {"mcp_server": "git"}}}
    assert world.ask("A", "client:get_resources", {**REQUEST, "mcp_server": "git"}) == expected
    world = office("0.4", "plain")
    world.reply = lambda call: {"error": {"code": 404, "message": "gone"}}
    assert world.ask("A", "client:get_tools", REQUEST) == {"code": 404, "message": "gone"}
    world.reply = lambda call: {"tools": [{"name": "t"}], "req_id": "r"}
    assert world.ask("A", "client:get_tools", REQUEST) == {"tools": [{"name": "t", "bundle_id": "c"}], "req_id": "r"}


@pytest.mark.parametrize("computer", ["s", "0.4"])
@pytest.mark.parametrize("agent", ["0.1", "0.2", "0.3", "0.4", "0.5"])
def test_what_an_official_agent_cannot_read_is_an_error_that_names_the_sizes(agent: str, computer: str) -> None:
    world = office(agent, computer)
    result = {"content": [{"type": "text", "text": "x" * 4_000_000}]}
    world.reply = lambda call: result
    ack = world.ask("A", "client:tool_call", CALL)
    assert ack["meta"]["error_code"] == ack["error"]["code"] == 413
    assert ("code" in ack) is (agent != "0.1")
    assert "4000000" in ack["error"]["message"]
    for reader in ("s", "plain"):
        world = office(reader, "s")
        world.reply = lambda call: result
        assert world.ask("A", "client:tool_call", CALL) is result


@pytest.mark.parametrize("agent", ["s", "plain", "0.4"])
@pytest.mark.parametrize("computer", ["0.1", "0.2", "0.3", "0.4", "0.5"])
def test_what_an_official_computer_cannot_read_is_not_sent(agent: str, computer: str) -> None:
    world = office(agent, computer)
    ack = world.ask("A", "client:tool_call", {**CALL, "params": {"text": "x" * 4_000_000}})
    assert ack["meta"]["error_code"] == 413
    assert world.asked == []
    for reader in ("s", "plain"):
        world = office(agent, reader)
        world.ask("A", "client:tool_call", {**CALL, "params": {"text": "x" * 4_000_000}})
        assert len(world.asked) == 1


# --------------------------------------------------------------------------------------------------------------- cancel


@pytest.mark.parametrize(("computer", "ends"), [("plain", True), ("s", False), ("0.2", False), ("0.4", False)])
def test_the_server_ends_a_cancelled_call_where_the_computer_may_not(computer: str, ends: bool) -> None:
    world = office("s", computer)
    calls: list[Call] = []
    world.reply = calls.append
    world.ask("A", "client:tool_call", CALL)
    world.ask("A", "client:get_tools", REQUEST)
    assert [call.ends_on_cancel for call in calls] == [ends, False]


@pytest.mark.parametrize("agent", ["s", "plain", "0.4"])
def test_an_agent_that_cancels_gets_a_result_that_says_so(agent: str) -> None:
    def end(call: Call) -> Any:
        raise CallEnded

    world = office(agent, "plain")
    world.reply = end
    sent = world.send("A", "client:tool_call", CALL)
    assert sent.error is None
    assert sent.ack["isError"] is True
    assert sent.ack["meta"]["a2c_cancelled"] is True
    assert sent.ack["content"][0]["text"]
    # The Computer has heard of it with the whole office.
    assert world.heard == []
    world.ask("A", "server:tool_call_cancel", {"agent": "a", "req_id": "r"})
    assert world.heard == [("C", "notify:tool_call_cancel", {"agent": "a", "req_id": "r"})]
    assert world.ended == [("A", "r")]


# ------------------------------------------------------------------------------------------------------------- binaries


class Blobs:
    """A Computer of 0.4: its tool answers with binaries by handle, which it hands out in chunks."""

    def __init__(self, world: MemoryWorld, *binaries: bytes, chunk: int = 40_000) -> None:
        self.world = world
        self.binaries = binaries
        self.chunk = chunk
        self.change: Callable[[dict[str, Any]], Any] = lambda answer: answer
        world.reply = self.answer

    def item(self, number: int) -> dict[str, Any]:
        data = self.binaries[number]
        handle = {
            "a2c_blob_handle": f"h{number}",
            "a2c_total_size": len(data),
            "a2c_sha256": hashlib.sha256(data).hexdigest(),
        }
        return {"type": "image", "data": "", "mimeType": "image/png", "meta": {**handle, "own": 1}}

    def answer(self, call: Call) -> Any:
        if call.event == "client:tool_call":
            text = {"type": "text", "text": "before"}
            return {"content": [text, *map(self.item, range(len(self.binaries)))], "isError": False}
        data = self.binaries[int(call.data["blob_handle"][1:])]
        offset = call.data["chunk_offset"]
        part = data[offset : offset + self.chunk]
        return self.change(
            {
                "blob_handle": call.data["blob_handle"],
                "mime_type": "image/png",
                "total_size": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "chunk_offset": offset,
                "eof": offset + len(part) >= len(data),
                "blob": b64encode(part).decode(),
                "req_id": call.data["req_id"],
            }
        )


@pytest.mark.parametrize("agent", ["plain", "s"])
def test_binaries_are_put_back_for_an_agent_that_knows_no_handles(agent: str) -> None:
    world = office(agent, "0.4")
    Blobs(world, BINARY, b"small")
    result = world.ask("A", "client:tool_call", CALL)
    text, first, second = result["content"]
    assert text == {"type": "text", "text": "before"}
    assert b64decode(first["data"]) == BINARY
    assert b64decode(second["data"]) == b"small"
    for item in (first, second):
        assert item.get("_meta", item.get("meta")) == {"own": 1}
    fetches = [data for _, event, data in world.asked if event == "client:get_blob"]
    assert [fetch["chunk_offset"] for fetch in fetches] == [0, 40_000, 80_000, 0]
    assert {(fetch["agent"], fetch["computer"]) for fetch in fetches} == {("a", "c")}
    assert len({fetch["req_id"] for fetch in fetches}) == 4


@pytest.mark.parametrize(("agent", "field"), [("0.4", {}), ("0.2", {}), ("s", {"max_inline_bytes": 100})])
def test_an_agent_that_reads_handles_gets_them(agent: str, field: dict[str, Any]) -> None:
    world = office(agent, "0.3" if agent != "s" else "0.4")
    Blobs(world, BINARY)
    result = world.ask("A", "client:tool_call", {**CALL, **field})
    assert result["content"][1]["meta"]["a2c_blob_handle"] == "h0"
    assert [event for _, event, _ in world.asked] == ["client:tool_call"]


def test_a_fetch_belongs_to_the_call_that_it_completes() -> None:
    world = office("plain", "0.4")
    blobs = Blobs(world, BINARY)
    calls: list[Call] = []

    def answer(call: Call) -> Any:
        calls.append(call)
        world.time += 3
        return blobs.answer(call)

    world.reply = answer
    result = world.ask("A", "client:tool_call", CALL)
    assert b64decode(result["content"][1]["data"]) == BINARY
    assert [call.is_part for call in calls] == [False, True, True, True]
    assert [call.timeout for call in calls] == [12, 9, 6, 3]


def left_out(world: MemoryWorld) -> str:
    """The text that took the place of the binary."""
    result = world.ask("A", "client:tool_call", CALL)
    assert result["content"][0] == {"type": "text", "text": "before"}
    assert result["content"][1]["type"] == "text"
    return result["content"][1]["text"]


def test_a_binary_that_does_not_fit_becomes_a_text_that_names_size_and_limit() -> None:
    world = office("plain", "0.4", message_bytes=100_000)
    Blobs(world, BINARY, b"small")
    result = world.ask("A", "client:tool_call", CALL)
    assert f"{len(BINARY)} bytes" in result["content"][1]["text"]
    assert "100000 bytes" in result["content"][1]["text"]
    assert b64decode(result["content"][2]["data"]) == b"small"
    assert [data["blob_handle"] for _, event, data in world.asked if event == "client:get_blob"] == ["h1"]


def test_what_official_clients_cannot_read_is_not_put_back() -> None:
    world = office("0.1", "0.4")
    Blobs(world, bytes(3_100_000), chunk=1_000_000)
    assert "4000000" in left_out(world)


def test_a_call_that_ran_out_of_time_has_the_rest_of_its_result() -> None:
    world = office("plain", "0.4")
    blobs = Blobs(world, BINARY)

    def slow(answer: dict[str, Any]) -> Any:
        world.time += 6.5
        return answer

    blobs.change = slow
    assert "in time" in left_out(world)


BAD: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another hash": lambda answer: {**answer, "sha256": "0" * 64},
    "another size": lambda answer: {**answer, "total_size": answer["total_size"] + 1},
    "other contents": lambda answer: {**answer, "blob": b64encode(b"x" * 40_000).decode()},
    "too much": lambda answer: {**answer, "blob": b64encode(b"x" * 200_000).decode(), "eof": False},
    "too little": lambda answer: {**answer, "eof": True},
    "nothing": lambda answer: {**answer, "blob": "", "eof": False},
    "another offset": lambda answer: {**answer, "chunk_offset": 1},
    "no base64": lambda answer: {**answer, "blob": "*"},
    "no blob": lambda answer: {**answer, "blob": None},
    "an empty ack": lambda answer: None,
    "a list": lambda answer: [answer],
    "a flat error": lambda answer: {"code": 4018, "message": "gone", "details": {"reason": "gone"}},
    "a nested error": lambda answer: {"error": {"code": 4018, "message": "gone"}},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_binary_that_is_not_what_was_announced_is_left_out(bad: Callable[[Any], Any]) -> None:
    world = office("plain", "0.4")
    Blobs(world, BINARY).change = bad
    assert "left out" in left_out(world)
    assert len(world.asked) <= 5


def test_an_agent_that_goes_meanwhile_ends_the_fetch() -> None:
    world = office("plain", "0.4")
    blobs = Blobs(world, BINARY)

    def go(answer: dict[str, Any]) -> Any:
        raise CallerGone

    blobs.change = go
    assert world.send("A", "client:tool_call", CALL).is_abandoned
    assert world.heard == [("C", "notify:tool_call_cancel", {"agent": "a", "req_id": "r"})]
