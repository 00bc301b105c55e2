"""A Socket.IO client that is much cheaper than the servers it loads: frames are cut, never parsed as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import orjson

from a2c_smcp import smcp
from benchmarks.servers import HOST

_UPGRADE = (
    "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
    f"Host: {HOST}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()
_NAMESPACE = smcp.SMCP_NAMESPACE.encode() + b","
EVENT = b"42" + _NAMESPACE
ACK = b"43" + _NAMESPACE
_PATIENCE = 60.0

Receiver = Callable[[bytes], None]


class Wire(asyncio.Protocol):
    """One WebSocket connection, joined to the namespace; `receive` gets every Socket.IO packet as bytes."""

    def __init__(self) -> None:
        self.receive: Receiver = self._ignore
        self._transport: asyncio.Transport
        self._buffer = bytearray()
        self._needed = 0
        self._upgraded = False
        self._expected: tuple[bytes, asyncio.Future[bytes]] | None = None

    @classmethod
    async def connect(cls, port: int) -> Wire:
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(cls, HOST, port)
        await wire._expect(b"0", _UPGRADE, raw=True)
        await wire._expect(b"40", b"40" + _NAMESPACE)
        return wire

    async def join(self, role: str, name: str, office_id: str) -> None:
        body = orjson.dumps([smcp.JOIN_OFFICE_EVENT, {"role": role, "name": name, "office_id": office_id}])
        answer = await self._expect(ACK, EVENT + b"0" + body)
        if not answer.startswith(ACK + b"0[true"):
            raise RuntimeError(f"join refused: {answer!r}")

    async def ask(self, event: str, data: dict[str, str]) -> bytes:
        """Send an event and wait for its ack."""
        return await self._expect(ACK, EVENT + b"0" + orjson.dumps([event, data]))

    def send(self, *parts: bytes) -> None:
        """Send a text frame. The key of zeros saves the masking here; the server unmasks as ever."""
        size = sum(map(len, parts))
        if size < 126:
            head = bytes((0x81, 0x80 | size, 0, 0, 0, 0))
        elif size < 65536:
            head = b"\x81\xfe" + size.to_bytes(2, "big") + bytes(4)
        else:
            head = b"\x81\xff" + size.to_bytes(8, "big") + bytes(4)
        self._transport.write(b"".join((head, *parts)))

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._expected is not None and not self._expected[1].done():
            self._expected[1].set_exception(exc or ConnectionResetError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._needed:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        at = 0
        if not self._upgraded:
            at = data.find(b"\r\n\r\n") + 4
            if at < 4:
                self._buffer += data
                return
            if not data.startswith(b"HTTP/1.1 101"):
                raise RuntimeError(f"no upgrade: {data[:200]!r}")
            self._upgraded = True
        at = self._read_frames(data, at)
        if at < len(data):
            self._buffer += data[at:]

    def _read_frames(self, data: bytes, at: int) -> int:
        """Take every whole frame from `at` on; return where the rest begins."""
        end = len(data)
        while end - at >= 2:
            size, start = data[at + 1], at + 2
            if size >= 126:
                start += 2 if size == 126 else 8
                if start > end:
                    self._needed = start - at
                    return at
                size = int.from_bytes(data[at + 2 : start], "big")
            if start + size > end:
                self._needed = start + size - at
                return at
            if data[at] == 0x81:
                self._take(data[start : start + size])
            at = start + size
        self._needed = 2
        return at

    def _take(self, packet: bytes) -> None:
        if packet == b"2":
            self.send(b"3")
        elif self._expected is not None and packet.startswith(self._expected[0]):
            self._expected[1].set_result(packet)
            self._expected = None
        else:
            self.receive(packet)

    async def _expect(self, prefix: bytes, message: bytes, *, raw: bool = False) -> bytes:
        """Send, and wait for the packet that begins so."""
        future = asyncio.get_running_loop().create_future()
        self._expected = prefix, future
        if raw:
            self._transport.write(message)
        else:
            self.send(message)
        async with asyncio.timeout(_PATIENCE):
            return await future

    def _ignore(self, packet: bytes) -> None:
        """An idle member reads and discards."""
