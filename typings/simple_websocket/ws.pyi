import socket

class Base:
    connected: bool
    sock: socket.socket
    def close(self, reason: int | None = None, message: str | None = None) -> None: ...
