"""The token for one login to the console, which the owner of a process sees in its terminal, and where this login leads
on to."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Protocol


class OneTimeToken:
    """Valid for one login. With that login, another token takes its place; `on_new` is called with each."""

    def __init__(self, on_new: Callable[[str], None]) -> None:
        self._on_new = on_new
        self._token = secrets.token_urlsafe(32)
        on_new(self._token)

    def take(self, token: str) -> bool:
        """Whether this is the token. If so, it is not any more."""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return False
        self._token = secrets.token_urlsafe(32)
        self._on_new(self._token)
        return True


class ComputerPage(Protocol):
    """The page of a Computer that the same person owns. Whoever logged in with the token gets there."""

    def login_url(self) -> str | None:
        """The address of the next login; None while the Computer does not run."""
        ...

    def log_out(self) -> None:
        """End the logins there: the person logs out of the console."""
        ...
