"""Listening sockets, and handing one to a child process."""

from __future__ import annotations

import base64
import socket
import sys
from typing import Any

if sys.platform == "win32":
    _OWN_PORT = socket.SO_EXCLUSIVEADDRUSE  # SO_REUSEADDR would let another program take a port that is in use
    LOOP_OF_SHARED_LISTENER = "asyncio:SelectorEventLoop"
    """The event loop that can accept from a socket of another process. Windows' usual loop ties the socket to its
    completion port, and a socket takes no second one: after a restart, every accept would fail with WinError 87. The
    price: `select` waits for at most 512 sockets there."""

    def inheriting(listener: socket.socket) -> dict[str, Any]:
        """The options that start a child which may take over the socket."""
        return {}

    def hand_over(listener: socket.socket, pid: int) -> str:
        """What a child has to know to take over the socket."""
        return base64.b64encode(listener.share(pid)).decode()

    def take_over(shared: str) -> socket.socket:
        """The socket that our parent handed over."""
        return socket.fromshare(base64.b64decode(shared))

    def close_inherited(shared: str) -> None:
        """Close everything that we inherited except for the socket. On Windows we inherit nothing."""

    HAS_UNIX_SOCKETS = False

    def unix_socket() -> socket.socket:
        """A Unix socket, which Python does not have on Windows."""
        raise OSError("Windows has no Unix sockets for Python")

else:
    import os

    _OWN_PORT = socket.SO_REUSEADDR  # otherwise a port stays in use for a minute after its Server has stopped
    _MOST_DESCRIPTORS = 1_024
    LOOP_OF_SHARED_LISTENER = "auto"

    def inheriting(listener: socket.socket) -> dict[str, Any]:
        """The options that start a child which may take over the socket."""
        return {"pass_fds": (listener.fileno(),)}

    def hand_over(listener: socket.socket, pid: int) -> str:
        """What a child has to know to take over the socket."""
        return str(listener.fileno())

    def take_over(shared: str) -> socket.socket:
        """The socket that our parent handed over."""
        return socket.socket(fileno=int(shared))

    def close_inherited(shared: str) -> None:
        """Close everything that we inherited except for the socket."""
        # A descriptor that is inherited stays inheritable: our own children would get it, too.
        kept = int(shared or 2)
        os.closerange(3, kept)
        os.closerange(max(kept + 1, 3), _MOST_DESCRIPTORS)

    HAS_UNIX_SOCKETS = True

    def unix_socket() -> socket.socket:
        """A Unix socket."""
        return socket.socket(socket.AF_UNIX)


def bind(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes a free one.

    Raises:
        OSError: the address is in use, or does not belong to this machine.
    """
    return _bind(socket.AF_INET6 if ":" in host else socket.AF_INET, (host, port), _OWN_PORT)


def share(reserved: socket.socket) -> socket.socket:
    """A socket for one of several processes that listen at the same address. `reserved` is a socket that `bind` made
    and that does not listen itself."""
    # Processes that accept from one socket share unevenly: the first that wakes up takes all connections that wait. A
    # client stays for hours, so this would last. Linux spreads connections over sockets of their own. Other systems
    # would give all of them to one of the sockets.
    if sys.platform == "linux":
        return _bind(reserved.family, reserved.getsockname(), _OWN_PORT, socket.SO_REUSEPORT)
    return reserved.dup()


def _bind(family: int, address: Any, *options: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        for option in options:
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener
