"""The sessions of browsers: a random id in a cookie, which ends after a time without requests, at logout, or with the
credential of its user."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from a2c_smcp.console.web.kept_sessions import Keeper, Kept
from a2c_smcp.console.web.login_tokens import hash_token
from a2c_smcp.console.web.users import User

IDLE_SECONDS = 3600.0
LASTING_SECONDS = 12 * 3600.0
MOST = 100
KEEP_SECONDS = 60.0
"""How often the time of the last request is written to disk."""


@dataclass(slots=True, eq=False)
class Session:
    """A browser that is logged in."""

    user: User
    opened: float
    used: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """What an unsafe request has to repeat, which a page of another site cannot know."""
    is_closed: bool = False

    def accepts(self, csrf: str) -> bool:
        """Whether an unsafe request comes from a page of this session."""
        return hmac.compare_digest(csrf.encode("utf-8", "replace"), self.csrf.encode())


class Sessions:
    """The sessions of a console. Their number is bounded: a new one replaces that which was idle the longest.

    With a `keeper`, those whose user has a reference outlive the process. Their ids start with the `prefix`.
    """

    def __init__(
        self,
        idle_seconds: float = IDLE_SECONDS,
        lasting_seconds: float = LASTING_SECONDS,
        most: int = MOST,
        clock: Callable[[], float] = time.time,
        keeper: Keeper | None = None,
        prefix: str = "",
    ) -> None:
        self._prefix = prefix
        self._keeper = keeper
        self._kept_at = clock()
        self.idle_seconds = idle_seconds
        self.lasting_seconds = lasting_seconds
        self._most = most
        self._clock = clock
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, user: User) -> tuple[str, Session]:
        """A new session, and the id for its cookie. Only a hash of the id is kept."""
        for key in [key for key, session in self._open.items() if not self.holds(session)]:
            self._end(key)
        while len(self._open) >= self._most:
            self._end(min(self._open, key=lambda key: self._open[key].used))
        token = self._prefix + secrets.token_urlsafe(32)
        now = self._clock()
        session = self._open[hash_token(token)] = Session(user, now, now)
        self._keep()
        return token, session

    def find(self, token: str) -> Session | None:
        """The session of a cookie, if it has not ended."""
        key = hash_token(token)
        session = self._open.get(key)
        if session is None:
            return None
        if not self.holds(session):
            self._end(key)
            return None
        return session

    def touch(self, session: Session) -> None:
        """Note that the person at the browser did something."""
        session.used = self._clock()
        if session.used - self._kept_at > KEEP_SECONDS:
            self._keep()

    def holds(self, session: Session) -> bool:
        """Whether a session has not ended."""
        now = self._clock()
        return (
            not session.is_closed
            and now - session.used < self.idle_seconds
            and now - session.opened < self.lasting_seconds
            and session.user.is_valid
        )

    def close(self, session: Session) -> None:
        """End a session: its person logs out."""
        for key in [key for key, each in self._open.items() if each is session]:
            self._end(key)
        self._keep()

    def close_all(self) -> None:
        """End all sessions."""
        for key in list(self._open):
            self._end(key)
        self._keep()

    def restore(self, find: Callable[[str], User | None]) -> None:
        """Open the sessions of the process before this one again. `find` finds a user by its reference."""
        if self._keeper is None:
            return
        for each in self._keeper.load()[-self._most :]:
            user = find(each.reference)
            if user is not None:
                self._open[each.token_hash] = Session(user, each.opened, each.used, each.csrf)

    def aclose(self) -> None:
        """The process ends."""
        self._keep()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.close()

    def _keep(self) -> None:
        self._kept_at = self._clock()
        if self._keeper is not None:
            self._keeper.save(
                [
                    Kept(key, session.user.reference, session.csrf, session.opened, session.used)
                    for key, session in self._open.items()
                    if session.user.reference is not None
                ]
            )

    def _end(self, key: str) -> None:
        self._open.pop(key).is_closed = True
