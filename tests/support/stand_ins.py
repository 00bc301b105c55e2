"""Programs in the place of a Server or in front of it: another web server, a proxy that changes what passes."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

Change = Callable[[bytes], bytes]


@contextlib.contextmanager
def web_server(status: int = 404, headers: dict[str, str] | None = None) -> Generator[str]:
    """The address of a web server that gives every request the same answer."""

    class Handler(BaseHTTPRequestHandler):
        server_version = "Elsewhere/1.0"

        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": "0", **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def meddler(target: str, *, request: Change = bytes, response: Change = bytes) -> Generator[str]:
    """The address of a proxy in front of `target` that changes what passes."""
    place = urlsplit(target)

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((place.hostname, place.port)) as far:
                back = threading.Thread(target=_pump, args=[far, self.request, response], daemon=True)
                back.start()
                _pump(self.request, far, request)
                back.join()

    class Server(ThreadingTCPServer):
        daemon_threads = True

    with _serving(Server(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}"


def without_upgrade(request: bytes) -> bytes:
    """A request as passed on by a proxy that does not support WebSocket."""
    return re.sub(rb"(?im)^(?:upgrade|connection): [^\r\n]*\r\n", b"", request)


def dated(date: str) -> Change:
    """A change that sets the date of a response."""
    return lambda response: re.sub(rb"(?im)^date: [^\r\n]*", b"Date: " + date.encode(), response)


def _pump(source: socket.socket, sink: socket.socket, change: Change) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(change(data))
        sink.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _serving(server: ThreadingTCPServer | ThreadingHTTPServer) -> Generator[int]:
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
