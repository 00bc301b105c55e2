"""Listening sockets."""

from __future__ import annotations

import socket


def bind(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes a free one.

    Raises:
        OSError: it is taken, or there is no such address here.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    return listener
