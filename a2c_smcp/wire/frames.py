"""WebSocket framing (RFC 6455) for a server: bytes go in, messages come out. No extensions.

In particular no compression: it would take the CPU time of the event loop that all clients share.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from websockets.utils import accept_key

# Every byte that a client sends is masked. Measured for 10 kB: 0.6 µs compiled, 39 µs in Python.
try:
    from websockets.speedups import apply_mask
except ImportError:  # a platform without its compiled part
    from websockets.utils import apply_mask

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
FINAL, RESERVED, OPCODE, MASKED, LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F

NORMAL, PROTOCOL_ERROR, NOT_UTF8, TOO_BIG = 1000, 1002, 1007, 1009
"""Codes of a close."""
_FAULTS = {
    PROTOCOL_ERROR: "the client sent an invalid WebSocket frame",
    NOT_UTF8: "the client sent text that is not UTF-8",
    TOO_BIG: "the client sent a message that is too large",
}


Header: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Ping:
    """The client sent a ping; the pong carries the same data."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The client closed the WebSocket or violated the protocol: nothing is read after it. `code` is for the answer."""

    code: int
    fault: str = ""
    """The violation of the protocol; empty for a regular close."""


Message: TypeAlias = str | bytes | Ping | Closed


class FrameReader:
    """Reads what one client sends after the handshake. A message has at most `max_bytes`."""

    __slots__ = ("_buffer", "_is_text", "_message", "_needed", "is_over", "max_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer: bytearray | None = None
        self._needed = 0
        """Bytes that the buffer must have before it is parsed again: a large frame comes in hundreds of pieces, and
        looking at the head for each of them would take time that grows with the square of its size."""
        self._message: bytearray | None = None
        """The fragments so far of a message that is not complete."""
        self._is_text = True
        self.is_over = False

    def receive(self, data: bytes | bytearray) -> list[Message]:
        """The messages that are complete now."""
        if self._buffer is not None:
            self._buffer += data
            if len(self._buffer) < self._needed:
                return []
            data, self._buffer = self._buffer, None
        found: list[Message] = []
        at = 0
        while not self.is_over:
            end = self._read_frame(data, at, found)
            if not end:
                if at < len(data):
                    self._buffer = bytearray(data[at:])
                    self._needed -= at
                break
            at = end
        return found

    def _read_frame(self, data: bytes | bytearray, at: int, found: list[Message]) -> int:
        """Read the frame at a position, and return the position of its end; 0 if it is not complete."""
        size = len(data)
        if size < at + 2:
            self._needed = at + 2
            return 0
        first, second = data[at], data[at + 1]
        length = second & LENGTH
        # The length field is 7, 16 or 64 bits long. The four bytes of the mask follow it.
        head = at + 6 if length < 126 else at + 8 if length == 126 else at + 14
        if size < head:
            self._needed = head
            return 0
        if length == 126:
            length = data[at + 2] << 8 | data[at + 3]
        elif length == 127:
            length = int.from_bytes(data[at + 2 : at + 10], "big")
        # Decided by the head, before the rest of the frame is buffered: a client could announce a frame of terabytes.
        code = self._problem(first, second, length)
        if code:
            self._end(code, found)
            return head
        end = head + length
        if size < end:
            self._needed = end
            return 0
        # A view, so that the payload is copied once, by the unmasking.
        self._take(first, apply_mask(memoryview(data)[head:end], bytes(data[head - 4 : head])), found)
        return end

    def _problem(self, first: int, second: int, length: int) -> int:
        """The close code for a frame that is not allowed here; 0 if it is allowed."""
        # The reserved bits belong to extensions, and none was negotiated. A client has to mask its frames: the mask
        # keeps a web page from sending bytes that a proxy takes for an HTTP request (RFC 6455, section 10.3).
        opcode = first & OPCODE
        if first & RESERVED or not second & MASKED:
            return PROTOCOL_ERROR
        if opcode >= CLOSE:
            return PROTOCOL_ERROR if opcode > PONG or length > 125 or not first & FINAL else 0
        # A continuation needs a message that has begun, and a new message needs that there is none.
        if opcode > BINARY or (opcode == CONTINUATION) == (self._message is None):
            return PROTOCOL_ERROR
        # All fragments count: a message in a million small frames takes as much memory as one in a single frame.
        return TOO_BIG if length + len(self._message or b"") > self.max_bytes else 0

    def _take(self, first: int, data: bytes, found: list[Message]) -> None:
        opcode = first & OPCODE
        if opcode >= CLOSE:
            if opcode == CLOSE:
                self._end(_close_code(data), found)
            elif opcode == PING:
                found.append(Ping(data))
            return
        if opcode != CONTINUATION:
            self._is_text = opcode == TEXT
        if self._message is not None:
            self._message += data
        elif not first & FINAL:
            self._message = bytearray(data)
        if not first & FINAL:
            return
        if self._message is not None:
            data, self._message = bytes(self._message), None
        if not self._is_text:
            found.append(data)
            return
        # Decoded as a whole, because a fragment may end in the middle of a character.
        try:
            found.append(data.decode())
        except UnicodeDecodeError:
            self._end(NOT_UTF8, found)

    def _end(self, code: int, found: list[Message]) -> None:
        self.is_over = True
        self._message = None
        found.append(Closed(code, _FAULTS.get(code, "")))


def write_frame(opcode: int, data: bytes) -> bytes:
    """A frame with a whole message."""
    length = len(data)
    if length < 126:
        return bytes((FINAL | opcode, length)) + data
    if length < 1 << 16:
        return struct.pack("!BBH", FINAL | opcode, 126, length) + data
    return struct.pack("!BBQ", FINAL | opcode, 127, length) + data


def write_close(code: int) -> bytes:
    """The frame that closes."""
    return write_frame(CLOSE, struct.pack("!H", code))


def write_acceptance(key: str, headers: Iterable[Header] = ()) -> bytes:
    """The response that accepts a WebSocket; `key` is the request's `Sec-WebSocket-Key`."""
    accepted = (b"Sec-WebSocket-Accept", accept_key(key).encode())
    fields = ((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"), accepted, *headers)
    return _write_head(HTTPStatus.SWITCHING_PROTOCOLS, fields)


def write_refusal(status: HTTPStatus, headers: Iterable[Header] = (), body: bytes = b"") -> bytes:
    """The response that rejects a WebSocket; the connection ends with it."""
    fields = {b"connection": b"close", b"content-length": str(len(body)).encode()}
    return _write_head(status, {**fields, **{name.lower(): value for name, value in headers}}.items()) + body


def _write_head(status: HTTPStatus, headers: Iterable[Header]) -> bytes:
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _close_code(data: bytes) -> int:
    """The code that answers a close: the client's own, if it may be sent."""
    if not data:
        return NORMAL
    # 1004 to 1006 are reserved, and 1005 and 1006 must not be sent (RFC 6455, section 7.4). 3000 to 4999 are for
    # applications; all others are undefined.
    code = int.from_bytes(data[:2], "big")
    is_known = (1000 <= code <= 1014 and code not in (1004, 1005, 1006)) or 3000 <= code < 5000
    return code if len(data) >= 2 and is_known else PROTOCOL_ERROR
