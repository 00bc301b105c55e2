"""WebSocket framing, against the client of the `websockets` library."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import OP_CLOSE, OP_CONT, OP_PING, OP_PONG, OP_TEXT, Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from a2c_smcp.wire.frames import (
    BINARY,
    NOT_UTF8,
    PING,
    PROTOCOL_ERROR,
    TEXT,
    TOO_BIG,
    Closed,
    FrameReader,
    Message,
    Ping,
    write_acceptance,
    write_close,
    write_frame,
    write_refusal,
)

messages = st.lists(st.text(st.characters(exclude_categories=("Cs",))) | st.binary(), max_size=10)


def client() -> ClientProtocol:
    return ClientProtocol(parse_uri("ws://server/"), state=State.OPEN)


def frame(opcode: int, data: bytes, *, fin: bool = True, mask: bool = True) -> bytes:
    return Frame(Opcode(opcode), data, fin=fin).serialize(mask=mask)


def sent(conversation: list[str | bytes]) -> bytes:
    peer = client()
    for message in conversation:
        peer.send_text(message.encode()) if isinstance(message, str) else peer.send_binary(message)
    return b"".join(peer.data_to_send())


@given(messages, st.lists(st.integers(0, 500)))
def test_messages_come_out_as_they_went_in_wherever_the_bytes_are_cut(
    conversation: list[str | bytes], cuts: list[int]
) -> None:
    data, reader = sent(conversation), FrameReader(10_000_000)
    found: list[Message] = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        found += reader.receive(data[start:end])
    assert found == conversation


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 1_000_000])
def test_every_length_is_read_and_written(size: int) -> None:
    data = b"x" * size
    assert FrameReader(10_000_000).receive(sent([data])) == [data]
    peer = client()
    peer.receive_data(write_frame(TEXT, data) + write_frame(BINARY, data))
    assert [bytes(event.data) for event in peer.events_received() if isinstance(event, Frame)] == [data, data]


@given(st.binary(max_size=300))
def test_any_bytes_give_documented_values_and_nothing_after_the_end(data: bytes) -> None:
    found = FrameReader(1_000).receive(data)
    assert all(isinstance(message, str | bytes | Ping | Closed) for message in found)
    assert not any(isinstance(message, Closed) for message in found[:-1])


def test_a_message_in_fragments_is_one_message_with_pings_between_them() -> None:
    data = frame(OP_TEXT, "é".encode()[:1], fin=False) + frame(OP_PING, b"?") + frame(OP_CONT, "é".encode()[1:])
    assert FrameReader(100).receive(data) == [Ping(b"?"), "é"]


FORBIDDEN = {
    "unmasked": (frame(OP_TEXT, b"x", mask=False), PROTOCOL_ERROR),
    "reserved bits": (b"\xc1\x81\0\0\0\0x", PROTOCOL_ERROR),
    "a continuation of nothing": (frame(OP_CONT, b"x"), PROTOCOL_ERROR),
    "a message within a message": (frame(OP_TEXT, b"x", fin=False) + frame(OP_TEXT, b"x"), PROTOCOL_ERROR),
    "opcode 3": (b"\x83\x80\0\0\0\0", PROTOCOL_ERROR),
    "opcode 11": (b"\x8b\x80\0\0\0\0", PROTOCOL_ERROR),
    "a ping in fragments": (b"\x09\x80\0\0\0\0", PROTOCOL_ERROR),
    "a long ping": (b"\x89\xfe\x00\x7e\0\0\0\0", PROTOCOL_ERROR),
    "not UTF-8": (frame(OP_TEXT, b"\xff"), NOT_UTF8),
    "large": (frame(OP_TEXT, b"x" * 101), TOO_BIG),
    "large in fragments": (frame(OP_TEXT, b"x" * 60, fin=False) + frame(OP_CONT, b"x" * 41), TOO_BIG),
    "huge": (b"\x81\xff" + b"\xff" * 8 + b"\0\0\0\0", TOO_BIG),
}


@pytest.mark.parametrize(("data", "code"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_is_not_allowed_ends_the_reading_with_its_code(data: bytes, code: int) -> None:
    reader = FrameReader(100)
    [*_, last] = reader.receive(data + frame(OP_TEXT, b"more"))
    assert isinstance(last, Closed)
    assert (last.code, bool(last.fault)) == (code, True)
    assert reader.is_over


@pytest.mark.parametrize(
    ("data", "code"), [(b"", 1000), (b"\x03\xe9bye", 1001), (b"\x03", 1002), (b"\x03\xed", 1002), (b"\x0f\xa0", 4000)]
)
def test_a_close_is_answered_with_the_code_of_the_client_if_it_may_be_sent(data: bytes, code: int) -> None:
    [closed] = FrameReader(100).receive(frame(OP_CLOSE, data) + frame(OP_TEXT, b"more"))
    assert isinstance(closed, Closed)
    assert closed.code == code


def test_a_pong_says_nothing() -> None:
    assert FrameReader(100).receive(frame(OP_PONG, b"?")) == []


def test_fragments_without_end_take_no_more_memory_than_their_bytes() -> None:
    reader = FrameReader(100)
    reader.receive(frame(OP_TEXT, b"", fin=False))
    assert reader.receive(frame(OP_CONT, b"", fin=False) * 10_000) == []
    assert reader.receive(frame(OP_CONT, b"!")) == ["!"]


def test_the_library_reads_what_is_written() -> None:
    peer = client()
    peer.receive_data(write_frame(PING, b"?") + write_close(1001))
    ping, close = peer.events_received()
    assert isinstance(ping, Frame)
    assert isinstance(close, Frame)
    assert bytes(ping.data) == b"?"
    assert peer.close_rcvd is not None
    assert peer.close_rcvd.code == 1001


def test_the_handshake_is_that_of_the_rfc() -> None:
    accepted = write_acceptance("dGhlIHNhbXBsZSBub25jZQ==", [(b"X-A", b"b")])
    assert accepted.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert b"\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in accepted
    assert accepted.endswith(b"\r\nX-A: b\r\n\r\n")


def test_a_refusal_says_how_long_it_is_and_that_the_connection_ends() -> None:
    refused = write_refusal(HTTPStatus.FORBIDDEN, [(b"Content-Type", b"text/plain")], b"no")
    assert refused == (
        b"HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nno"
    )
