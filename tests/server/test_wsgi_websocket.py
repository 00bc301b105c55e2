"""The WebSocket of the threaded Server, on a pair of sockets."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from websockets.frames import Frame, Opcode

from a2c_smcp.server.wsgi_websocket import READ_BYTES, WebSocket

MESSAGE = "x" * 1_000
FRAME = Frame(Opcode.TEXT, MESSAGE.encode()).serialize(mask=True)


def test_a_client_that_never_stops_sending_does_not_keep_its_thread() -> None:
    ours, theirs = socket.socketpair()

    def send() -> None:
        with suppress(OSError):
            while True:
                theirs.sendall(FRAME * 100)

    sender = threading.Thread(target=send)
    with ours, theirs:
        websocket = WebSocket({}, ours, 10_000_000)
        sender.start()
        for _ in range(100):
            websocket.wait()
            messages = websocket.take()
            assert set(messages) <= {MESSAGE}
            assert len(messages) <= READ_BYTES // len(MESSAGE) + 1
        websocket.shut()
        sender.join()
