"""The namespace's state machine, as dialogues: connect, events, acks, disconnect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from a2c_smcp.nesting import is_deeper
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import Answer, BadAnswer, BadEvent, Enter, Event, Leave, Namespace, Problem
from a2c_smcp.wire.packets import UNREAD, read_array
from a2c_smcp.wire.session import Fault

LIMITS = WireLimits(message_bytes=1_000, nesting=50, pending=3, attempts=3, entries=5)


@pytest.fixture
def outside() -> Namespace:
    return Namespace("/smcp", LIMITS)


@pytest.fixture
def inside(outside: Namespace) -> Namespace:
    outside.receive("0/smcp,")
    outside.admit("sid")
    return outside


def test_a_client_asks_and_is_let_in(outside: Namespace) -> None:
    assert outside.receive('0/smcp,{"token":"x"}') == Enter({"token": "x"})
    assert outside.is_entering
    assert outside.admit("sid") == '40/smcp,{"sid":"sid"}'
    assert outside.sid == "sid"


@pytest.mark.parametrize(("sent", "auth"), [("0/smcp,", None), ("0/smcp", None), ("0/smcp?x=1,{}", {})])
def test_credentials_may_be_missing_and_a_query_is_passed_over(outside: Namespace, sent: str, auth: Any) -> None:
    assert outside.receive(sent) == Enter(auth)


def test_a_rejected_client_may_try_again_but_not_for_ever(outside: Namespace) -> None:
    for attempt in range(3):
        assert isinstance(outside.receive("0/smcp,"), Enter)
        packet, fault = outside.reject("no", {"code": 401})
        assert packet == '44/smcp,{"message":"no","data":{"code":401}}'
        assert (fault is not None) == (attempt == 2)
    assert outside.sid is None


def test_another_namespace_is_not_served(outside: Namespace) -> None:
    answer = outside.receive("0/other,")
    assert isinstance(answer, str)
    assert answer.startswith("44/other,{")
    assert outside.receive('2/other,1["x"]') is None


@pytest.mark.parametrize("packet", ["0/smcp,", "0/smcp,{}"])
def test_entering_twice_is_a_fault(inside: Namespace, packet: str) -> None:
    assert isinstance(inside.receive(packet), Fault)


def test_leaving_and_entering_over_and_over_is_a_fault(inside: Namespace) -> None:
    for _ in range(4):
        assert isinstance(inside.receive("1/smcp,"), Leave)
        assert isinstance(inside.receive("0/smcp,"), Enter)
        inside.admit("again")
    inside.receive("1/smcp,")
    assert isinstance(inside.receive("0/smcp,"), Fault)


@pytest.mark.parametrize("message", ["", "x", "7", "²", "/smcp,", "-"])
def test_what_is_no_packet_is_a_fault(inside: Namespace, message: str) -> None:
    assert isinstance(inside.receive(message), Fault)


def test_an_event_comes_with_its_text_unchanged(inside: Namespace) -> None:
    text = '[ "client:x" , {"é": [1.0, 1e3, "\\u00e9"]}]'
    found = inside.receive("2/smcp,12" + text)
    assert found == Event("client:x", [{"é": [1.0, 1e3, "é"]}], 12, text)
    assert inside.receive('2/smcp,["y"]') == Event("y", [], None, '["y"]')


@pytest.mark.parametrize(
    ("message", "name", "problem"),
    [
        ('2/smcp,7["x",{]', "x", Problem.NOT_JSON),
        ("2/smcp,7[", "", Problem.NOT_JSON),
        ("2/smcp,7{}", "", Problem.NOT_JSON),
        ("2/smcp,7[]", "", Problem.NO_EVENT),
        ("2/smcp,7[5]", "", Problem.NO_EVENT),
        ('2/smcp,7["x",' + "[" * 60 + "]" * 60 + "]", "x", Problem.NOT_JSON),
        ('2/smcp,7["x","' + "a" * 1_000 + '"]', "x", Problem.TOO_LARGE),
        ('2/smcp,7["x","' + "é" * 600 + '"]', "x", Problem.TOO_LARGE),
        ('51-/smcp,7["x",{"_placeholder":true,"num":0}]', "x", Problem.BINARY),
    ],
)
def test_an_event_that_cannot_be_read_can_still_be_answered(
    inside: Namespace, message: str, name: str, problem: Problem
) -> None:
    found = inside.receive(message)
    assert isinstance(found, BadEvent)
    assert (found.name, found.id, found.problem) == (name, 7, problem)


def test_events_from_outside_are_passed_over(outside: Namespace) -> None:
    assert outside.receive('2/smcp,1["x"]') is None
    outside.receive("0/smcp,")
    assert outside.receive('2/smcp,1["x"]') is None, "nor while it waits to be let in"


def test_an_answer_finds_what_was_asked(inside: Namespace) -> None:
    one, two = object(), object()
    assert inside.ask('["a"]', one) == (1, '42/smcp,1["a"]')
    assert inside.ask('["b"]', two) == (2, '42/smcp,2["b"]')
    assert inside.receive('3/smcp,2[{"x":1}]') == Answer(two, [{"x": 1}], '[{"x":1}]')
    assert inside.receive("3/smcp,2[]") is None, "once"
    assert inside.receive("3/smcp,1") == Answer(one, [], "")
    assert inside.receive("3/smcp,9[]") is None


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("3/smcp,1[{]", Problem.NOT_JSON),
        ("3/smcp,1{}", Problem.NOT_JSON),
        ('3/smcp,1["' + "a" * 1_000 + '"]', Problem.TOO_LARGE),
        ('61-/smcp,1[{"_placeholder":true,"num":0}]', Problem.BINARY),
    ],
)
def test_an_answer_that_cannot_be_read_is_one_all_the_same(inside: Namespace, message: str, problem: Problem) -> None:
    token = object()
    inside.ask('["a"]', token)
    found = inside.receive(message)
    assert isinstance(found, BadAnswer)
    assert (found.token, found.problem) == (token, problem)


def test_questions_are_bounded_and_can_be_taken_back(inside: Namespace) -> None:
    asked = [inside.ask("[]", object()) for _ in range(3)]
    assert inside.ask("[]", object()) is None
    assert asked[0] is not None
    inside.forget(asked[0][0])
    assert inside.ask("[]", object()) is not None
    assert inside.receive("3/smcp,1[]") is None, "its ack is ignored"


def test_whoever_leaves_owes_its_answers(inside: Namespace) -> None:
    token = object()
    inside.ask("[]", token)
    assert inside.receive("1/smcp,") == Leave("sid", [token])
    assert inside.receive("1/smcp,") is None
    inside.receive("0/smcp,")
    inside.admit("next")
    assert inside.disconnect() == ("41/smcp,", Leave("next", []))


@pytest.mark.parametrize("depth", [1, 49, 50, 51, 300])
def test_nesting_is_counted_outside_strings(depth: int) -> None:
    tricky = ['"[[[[', "]]]]", '\\"[', "\\", '{"[}']
    text = json.dumps([tricky] * 200)[:-1] + "," + "[" * (depth - 1) + "]" * (depth - 1) + "]"
    assert is_deeper(text, 50) == (depth > 50)


def test_a_large_message_is_read_one_level_deep_and_kept_as_it_came() -> None:
    place = Namespace("/smcp", WireLimits())
    place.receive("0/smcp,")
    place.admit("sid")
    rows = json.dumps([{"id": number, "text": 'a "quoted" [text]'} for number in range(500)])
    fields = f'"agent":"a", "params" : {{"rows":{rows}}}, "timeout":60, "tags":["x"], "list":{rows}'
    text = f'["client:tool_call", {{{fields}}}]'
    found = place.receive("2/smcp,1" + text)
    assert isinstance(found, Event)
    assert (found.name, found.text) == ("client:tool_call", text)
    assert found.args == [{"agent": "a", "params": UNREAD, "timeout": 60, "tags": ["x"], "list": UNREAD}]
    assert read_array(text, 50, in_full=True) == json.loads(text)


@pytest.mark.parametrize("depth", [49, 50, 51])
@pytest.mark.parametrize("filling", ['"' + '[{\\"a\\": 1}]' * 2_000 + '"', "1," * 5_000 + "1"], ids=["text", "numbers"])
def test_a_large_message_is_read_up_to_the_limit_of_its_nesting(depth: int, filling: str) -> None:
    text = '["x",' + "[" * (depth - 1) + filling + "]" * (depth - 1) + "]"
    assert (read_array(text, 50) is not None) is (depth <= 50)


@pytest.mark.parametrize("broken", ["[}", "tru", '"\\x"', "1,", '{"a" 1}', "01", "NaN", '"\ud800"'])
def test_a_large_message_is_checked_to_its_end(broken: str) -> None:
    place = Namespace("/smcp", WireLimits())
    place.receive("0/smcp,")
    place.admit("sid")
    found = place.receive('2/smcp,7["x",{"params":{"rows":[' + "1," * 5_000 + broken + "]}}]")
    assert isinstance(found, BadEvent)
    assert found.problem is Problem.NOT_JSON
