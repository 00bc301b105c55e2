"""A client's connection, whole: what its session and its place in the namespace make of each other."""

from __future__ import annotations

import pytest

from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import BadEvent, Enter, Event, Leave
from a2c_smcp.wire.session import End, Fault

LIMITS = WireLimits(outside_bytes=100, transport_bytes=1_000, entry_seconds=10)


def connection(carrier: str = "websocket") -> Connection:
    wire = Connection("eio", "/smcp", LIMITS, 0.0, carrier)
    wire.session.take_payload()
    return wire


@pytest.fixture
def inside() -> Connection:
    wire = connection()
    assert isinstance(wire.receive_frame("40/smcp,", 1.0), Enter)
    wire.admit("sid")
    wire.session.take_payload()
    return wire


def test_the_attachments_of_a_refused_packet_are_passed_over(inside: Connection) -> None:
    assert isinstance(inside.receive_frame('452-/smcp,7["x",{"_placeholder":true,"num":0}]', 2.0), BadEvent)
    assert inside.receive_frame(b"one", 2.0) is None
    assert inside.receive_frame(b"two", 2.0) is None
    assert isinstance(inside.receive_frame('42/smcp,["x"]', 2.0), Event)
    assert isinstance(inside.receive_frame(b"three", 2.0), Fault)
    assert inside.session.end is End.FAULT


def test_the_same_in_one_body() -> None:
    wire = connection("polling")
    wire.receive_body(b"40/smcp,", 1.0)
    wire.admit("sid")
    values = wire.receive_body(b'451-/smcp,7["x",{}]\x1ebAAAA\x1e42/smcp,["y"]', 2.0)
    assert [type(value) for value in values] == [BadEvent, Event]
    assert isinstance(wire.receive_body(b"bAAAA", 2.0)[0], Fault)


def test_attachments_that_never_come_are_not_waited_for(inside: Connection) -> None:
    assert isinstance(inside.receive_frame('459999999999-/smcp,7["x"]', 2.0), BadEvent)
    assert isinstance(inside.receive_frame('42/smcp,["y"]', 2.0), Event)


def test_a_client_outside_may_send_little(inside: Connection) -> None:
    wire = connection()
    assert isinstance(wire.receive_frame('40/smcp,{"token":"' + "x" * 200 + '"}', 1.0), Fault)
    assert isinstance(inside.receive_frame('42/smcp,["' + "x" * 200 + '"]', 2.0), Event)
    assert isinstance(inside.receive_frame('42/smcp,["' + "x" * 2_000 + '"]', 2.0), Fault)


def test_a_client_has_so_long_to_enter_and_to_come_back(inside: Connection) -> None:
    wire = connection()
    assert wire.wake(9.9) is None
    assert isinstance(wire.wake(10.0), Fault)
    assert wire.session.take_payload() == "1"
    assert inside.wake(10.0) is None
    assert isinstance(inside.receive_frame("41/smcp,", 12.0), Leave)
    assert inside.wake_at == 22
    assert isinstance(inside.wake(22.0), Fault)


def test_a_server_that_takes_long_to_decide_is_waited_for() -> None:
    wire = connection()
    wire.receive_frame("40/smcp,", 9.0)
    assert wire.wake(10.0) is None
    assert wire.session.end is None


def test_a_lost_transport_is_a_leave_once(inside: Connection) -> None:
    assert inside.lose() == Leave("sid", [])
    assert inside.lose() is None
    assert inside.session.end is End.LOST
