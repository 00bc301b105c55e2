"""What holds for any input: only documented values, in linear time; nothing lost, doubled or out of order."""

from __future__ import annotations

import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import Enter, Event, Value
from a2c_smcp.wire.session import Fault
from tests.wire.fuzzing import SEEDS, VALUES, run

frames = st.one_of(st.text(), st.sampled_from(SEEDS), st.binary())
messages = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=20), max_size=30)


@given(st.lists(frames, max_size=20))
def test_any_frames_give_documented_values(sent: list[str | bytes]) -> None:
    wire = Connection("eio", "/smcp", WireLimits(), 0.0, "websocket")
    for frame in sent:
        value = wire.receive_frame(frame, 1.0)
        assert value is None or isinstance(value, VALUES)
        if isinstance(value, Enter):
            wire.admit("sid")
        if isinstance(value, Fault):
            assert wire.session.end is not None


@given(st.lists(st.binary() | st.sampled_from([seed.encode() for seed in SEEDS]), max_size=20))
def test_any_bodies_give_documented_values(sent: list[bytes]) -> None:
    wire = Connection("eio", "/smcp", WireLimits(), 0.0, "polling")
    for body in sent:
        values = wire.receive_body(body, 1.0)
        assert all(isinstance(value, VALUES) for value in values)
        assert not any(isinstance(value, Fault) for value in values[:-1]), "a fault comes last"


def test_a_hundred_thousand_mutated_frames_raise_nothing() -> None:
    assert run(100_000) > 10_000


@pytest.mark.parametrize(
    "body",
    [
        b"3\x1e" * 5_000_000 + b"3",
        b"4" * 10_000_000,
        b"42/smcp,1" + b"[" * 10_000_000,
        b'42/smcp,1["x","' + b'\\"[' * 3_000_000 + b'"]',
        b"42/" + b"a" * 10_000_000,
        b'42/smcp,1["x",' + b"[]," * 3_000_000 + b"1]",
        b'42/smcp,1["x",' + b"[" * 200 + b"[]," * 3_000_000 + b"1" + b"]" * 201,
    ],
    ids=["packets", "digits", "open brackets", "escapes", "namespace", "empty arrays", "deep arrays"],
)
def test_the_worst_input_of_ten_megabytes_is_read_in_time_linear_in_it(body: bytes) -> None:
    """Anything quadratic would take hours."""
    limits = WireLimits(message_bytes=10**8, transport_bytes=10**8, outside_bytes=10**8, packets=10**8)
    wire = Connection("eio", "/smcp", limits, 0.0, "polling")
    wire.receive_body(b"40/smcp,", 0.0)
    wire.admit("sid")
    started = time.process_time()
    assert all(isinstance(value, VALUES) for value in wire.receive_body(body, 0.0))
    assert time.process_time() - started < 30


def events(values: list[Value]) -> list[str]:
    return [value.name for value in values if isinstance(value, Event)]


@given(messages, st.data())
def test_a_conversation_is_the_same_however_it_is_cut_into_requests(names: list[str], data: st.DataObject) -> None:
    packets = ["40/smcp,", *(f"42/smcp,{_json([name])}" for name in names)]
    heard: list[str] = []
    wire = Connection("eio", "/smcp", WireLimits(), 0.0, "polling")
    while packets:
        count = data.draw(st.integers(1, len(packets)))
        sent, packets = packets[:count], packets[count:]
        for packet in sent if "40/smcp," in sent else ["\x1e".join(sent)]:
            values = wire.receive_body(packet.encode(), 0.0)
            if any(isinstance(value, Enter) for value in values):
                wire.admit("sid")
            heard += events(values)
    assert heard == names


ACTIONS = ("send", "poll", "lose", "upgrade", "fail to upgrade")


@given(messages, st.lists(st.sampled_from(ACTIONS), max_size=60))
def test_what_a_lossy_network_delivers_is_a_beginning_of_what_was_sent(names: list[str], actions: list[str]) -> None:
    """Polls that are lost, an upgrade in the middle, one that fails: never a gap, never twice, never out of order."""
    server = Connection("eio", "/smcp", WireLimits(), 0.0, "polling")
    session = server.session
    session.take_payload()
    server.receive_body(b"40/smcp,", 0.0)
    server.admit("sid")
    received: list[str] = []
    to_send = list(names)
    for action in (*actions, *["send"] * len(names)):
        if action == "send" and to_send:
            server.emit(server.namespace.event(_json([to_send.pop(0)])))
        elif session.carrier == "websocket":
            received += _names(session.take_frame() or "")
        elif action == "poll":
            received += _names(session.take_payload())
        elif action == "lose":
            session.take_payload()
            break  # a client whose poll fails gives its session up
        elif action == "upgrade":
            assert session.receive_probe("2probe") is False
            assert session.receive_probe("5") is True
        elif action == "fail to upgrade":
            assert session.receive_probe("2probe") is False
            session.give_up_probe()
    else:
        while session.has_output():
            received += _names(session.take_payload())
        assert received == names
    assert received == names[: len(received)]


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _names(payload: str) -> list[str]:
    packets = [packet for packet in payload.split("\x1e") if packet.startswith("42/smcp,")]
    return [orjson.loads(packet.removeprefix("42/smcp,"))[0] for packet in packets]
