import socket

class Base:
    connected: bool
    sock: socket.socket
    def receive(self, timeout: float | None = None) -> str | bytes | None: ...
    def close(self, reason: int | None = None, message: str | None = None) -> None: ...
