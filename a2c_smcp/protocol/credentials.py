"""The names under which a client sends its API key or token.

Each line of Servers looks in another place. All places get the same key, and the Server uses the one that it knows.
"""

from __future__ import annotations

HEADER = "x-api-key"
_HEADERS = (HEADER, "access_token")
"""Of Servers of this project and official ones to 0.1.3, and of official ones from 0.1.5 on."""
_IN_AUTH = (HEADER, "token")
"""Of Servers of this project, and of official ones from 0.2.2 on. Also because a proxy may remove a header."""
_AUTHORIZATION = "authorization"


def headers_with(key: str | None, header: str = HEADER) -> dict[str, str]:
    """The HTTP headers with a key. A `header` of the program's own comes first."""
    return dict.fromkeys((header, *_others(_HEADERS, header)), key) if key else {}


def auth_with(key: str | None, header: str = HEADER) -> dict[str, str]:
    """The `auth` payload of Socket.IO with a key."""
    return dict.fromkeys((header, *_others(_IN_AUTH, header)), key) if key else {}


def _others(names: tuple[str, ...], header: str) -> tuple[str, ...]:
    # The value of that header has a scheme in front of the key, which is no part of the key elsewhere.
    if header.lower() == _AUTHORIZATION:
        return ()
    return tuple(name for name in names if name != header.lower())
