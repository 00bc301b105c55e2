"""The session's state machine, as dialogues: handshake, polling, upgrade, heartbeat, close."""

from __future__ import annotations

import json

import pytest

from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.session import Attachment, End, Fault, Session

LIMITS = WireLimits(ping_interval=25, ping_timeout=20, packets=10, unread=100, transport_bytes=1_000)


@pytest.fixture
def polling() -> Session:
    session = Session("s", LIMITS, 0.0, "polling")
    session.take_payload()
    return session


@pytest.fixture
def websocket() -> Session:
    session = Session("s", LIMITS, 0.0, "websocket")
    session.take_frame()
    return session


@pytest.mark.parametrize(("carrier", "upgrades"), [("polling", ["websocket"]), ("websocket", [])])
def test_the_first_packet_opens_the_session(carrier: str, upgrades: list[str]) -> None:
    opened = Session("s", LIMITS, 0.0, carrier).take_payload()
    assert opened[0] == "0"
    assert json.loads(opened[1:]) == {
        "sid": "s",
        "upgrades": upgrades,
        "pingInterval": 25_000,
        "pingTimeout": 20_000,
        "maxPayload": 1_000,
    }


def test_packets_go_out_in_order_over_either_carrier(polling: Session, websocket: Session) -> None:
    for session in (polling, websocket):
        for text in ("4a", "4b", "4c"):
            assert session.send(text) is None
    assert polling.take_payload() == "4a\x1e4b\x1e4c"
    assert [websocket.take_frame() for _ in range(4)] == ["4a", "4b", "4c", None]
    assert (polling.take_payload(), polling.unread, websocket.unread) == ("", 0, 0)


def test_a_poll_is_answered_with_sixteen_packets_at_most() -> None:
    session = Session("s", WireLimits(), 0.0, "polling")
    session.take_payload()
    for number in range(20):
        session.send(f"4{number}")
    assert [len(session.take_payload().split("\x1e")) for _ in range(2)] == [16, 4]


def test_an_answer_is_as_small_as_wanted_or_has_one_packet(polling: Session) -> None:
    for text in ("4aaa", "4b", "4c", "4d"):
        polling.send(text)
    assert [polling.take_payload(4), polling.take_payload(4), polling.take_payload()] == ["4aaa", "4b\x1e4c", "4d"]


def test_a_body_is_its_messages(polling: Session) -> None:
    assert polling.receive_body(b"4a\x1e3\x1e4b", 1.0) == ["a", "b"]
    assert polling.end is None


@pytest.mark.parametrize(
    "body",
    [b"", b"6", b"0", b"2", b"5", b"x", b"9", b"d=", b"\xff", b"4a\x1e", b"3\x1e" * 20, b"2probe", b"3probe"],
)
def test_a_body_that_is_no_payload_ends_the_session(polling: Session, body: bytes) -> None:
    assert isinstance(polling.receive_body(body, 1.0), Fault)
    assert polling.end is End.FAULT


@pytest.mark.parametrize("frame", ["", "6", "0", "2", "5", "x", "bAAAA", "2probe"])
def test_a_frame_that_is_no_packet_ends_the_session(websocket: Session, frame: str | bytes) -> None:
    assert isinstance(websocket.receive_frame(frame, 1.0), Fault)
    assert websocket.end is End.FAULT


def test_binary_messages_are_told_apart(polling: Session, websocket: Session) -> None:
    assert polling.receive_body(b"4a\x1ebAAAA\x1e4b", 1.0) == ["a", Attachment.BINARY, "b"]
    assert websocket.receive_frame(b"\x00", 1.0) is Attachment.BINARY


def test_a_goodbye_ends_the_session_and_what_follows_is_not_read(polling: Session) -> None:
    assert polling.receive_body(b"4a\x1e1\x1e4b", 1.0) == ["a"]
    assert polling.end is End.CLIENT


def test_a_websocket_takes_over_from_polling_with_what_waits(polling: Session) -> None:
    assert polling.receive_probe("2probe") is False
    assert polling.is_probed
    polling.send("4waits")
    assert polling.receive_probe("5") is True
    assert (polling.carrier, polling.is_probed, polling.take_frame()) == ("websocket", False, "4waits")


@pytest.mark.parametrize("frames", [["5"], ["2"], ["4x"], ["2probe", "2probe"], ["2probe", "4x"], [b"2probe"]])
def test_what_is_no_upgrade_leaves_polling_alone(polling: Session, frames: list[str | bytes]) -> None:
    answers = [polling.receive_probe(frame) for frame in frames]
    assert isinstance(answers[-1], Fault)
    polling.give_up_probe()
    assert (polling.carrier, polling.end, polling.is_probed) == ("polling", None, False)
    assert polling.receive_probe("2probe") is False, "another may try"


def test_a_ping_goes_out_in_time_and_a_pong_keeps_the_session(websocket: Session) -> None:
    assert websocket.wake_at == 25
    websocket.wake(24.9)
    assert not websocket.has_output()
    websocket.wake(25.0)
    assert websocket.take_frame() == "2"
    assert websocket.wake_at == 45
    websocket.receive_frame("3", 30.0)
    websocket.wake(45.0)
    assert websocket.end is None
    websocket.wake(50.0)
    assert websocket.take_frame() == "2"
    websocket.wake(70.0)
    assert websocket.end is End.SILENT


def test_who_reads_nothing_is_at_fault(websocket: Session) -> None:
    assert websocket.send("4" + "x" * 200) is None
    assert isinstance(websocket.send("4y"), Fault)
    assert websocket.end is End.FAULT


def test_a_close_comes_after_what_waits_and_nothing_after_it(polling: Session) -> None:
    polling.send("4a")
    polling.close()
    polling.close()
    polling.send("4b")
    assert (polling.take_payload(), polling.end) == ("4a\x1e1", End.SERVER)
