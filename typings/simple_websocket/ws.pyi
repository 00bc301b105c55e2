import socket
import threading

class Base:
    connected: bool
    sock: socket.socket
    thread: threading.Thread
    def receive(self, timeout: float | None = None) -> str | bytes | None: ...
    def close(self, reason: int | None = None, message: str | None = None) -> None: ...
