"""Tokens that are valid for one login, such as that in an address which a process prints."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from a2c_smcp.console.web.users import User

LASTING_SECONDS = 24 * 3600.0
MOST = 100
"""Tokens that wait for their login. The oldest is dropped for a new one."""


class LoginTokens:
    """The tokens of a console. A token is gone with the first login that uses it, also if that login fails later.

    `on_used` is called after each such login.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, on_used: Callable[[], None] | None = None) -> None:
        self._clock = clock
        self._on_used = on_used
        self._waiting: OrderedDict[str, tuple[float, User]] = OrderedDict()

    def mint(self, user: User, seconds: float = LASTING_SECONDS) -> str:
        """A new token, with which somebody logs in as this user."""
        token = secrets.token_urlsafe(32)
        self.add(token, user, seconds)
        return token

    def add(self, token: str, user: User, seconds: float = LASTING_SECONDS) -> None:
        """Accept a token that somebody else made."""
        while len(self._waiting) >= MOST:
            self._waiting.popitem(last=False)
        self._waiting[hash_token(token)] = self._clock() + seconds, user

    def take(self, token: str) -> User | None:
        """The user of a token, which is not valid any more; None if it was used or has expired."""
        ends, user = self._waiting.pop(hash_token(token), (0.0, None))
        if user is None or self._clock() >= ends:
            return None
        if self._on_used is not None:
            self._on_used()
        return user


def hash_token(token: str) -> str:
    """The form in which a token is kept. Tokens are random: a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
