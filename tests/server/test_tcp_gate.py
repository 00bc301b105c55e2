"""TCP connections before they are clients."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.server.tcp_gate import SPARE, TcpGate, proxies


class Wire:
    """A connection."""

    def __init__(self, address: str | None) -> None:
        self._peer = (address, 1) if address is not None else ""
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def get_extra_info(self, name: str) -> Any:
        return self._peer if name == "peername" else None


def gate(connections_per_ip: int = 1, most_waiting: int = 3, forwarded: str | None = None) -> TcpGate:
    return TcpGate(connections_per_ip, most_waiting, proxies(forwarded))


def test_an_address_has_so_many_connections_and_no_more() -> None:
    entrance = gate()
    wires = [Wire("203.0.113.9") for _ in range(SPARE + 2)]
    assert [entrance.enter(wire) for wire in wires] == [True] * SPARE + [False] * 2
    assert [wire.is_aborted for wire in wires] == [False] * SPARE + [True] * 2
    assert entrance.enter(Wire("203.0.113.10"))
    entrance.leave(wires[0])
    entrance.leave(wires[0])
    assert entrance.enter(Wire("203.0.113.9"))
    assert not entrance.enter(Wire("203.0.113.9"))


@pytest.mark.parametrize(
    ("address", "forwarded"),
    [
        ("127.0.0.1", None),
        ("::1", None),
        (None, None),
        ("10.0.0.7", "10.0.0.7"),
        ("10.0.0.7", "192.0.2.1, 10.0.0.0/8"),
        ("10.0.0.7", "*"),
        ("2001:db8::7", "2001:db8::/32"),
    ],
)
def test_loopback_and_proxies_are_not_counted(address: str | None, forwarded: str | None) -> None:
    entrance = gate(forwarded=forwarded)
    assert all(entrance.enter(Wire(address)) for _ in range(100))


@pytest.mark.parametrize("forwarded", [None, "", "10.0.0.8", "unix:/run/x", "nonsense/99"])
def test_what_is_no_proxy_is_counted(forwarded: str | None) -> None:
    entrance = gate(forwarded=forwarded)
    assert [entrance.enter(Wire("10.0.0.7")) for _ in range(SPARE + 1)][-1] is False


def test_the_one_that_waited_longest_makes_room() -> None:
    entrance = gate()
    stopped: list[int] = []
    wires = [Wire("127.0.0.1") for _ in range(5)]
    for number, wire in enumerate(wires):
        entrance.enter(wire)
        entrance.wait(wire, lambda number=number: stopped.append(number))
    assert [wire.is_aborted for wire in wires] == [True, True, False, False, False]
    entrance.arrive(wires[2])
    entrance.leave(wires[3])
    assert stopped == [0, 1, 2, 3]
