"""Who uses a console, and who decides about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from a2c_smcp.protocol.grants import Grant


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may use the console."""

    name: str
    """The name in the page's header and in logs."""
    grant: Grant
    """What else the credential allows, such as the offices whose tools it may try."""
    reference: str | None = None
    """What identifies the credential after a restart, without the credential itself; None if nothing does."""

    @property
    def is_valid(self) -> bool:
        """Whether the credential is still accepted."""
        return self.grant.holds is None or self.grant.holds()


class Tokens(Protocol):
    """Tokens that are valid for one login."""

    def take(self, token: str, /) -> User | None:
        """The user of a token, which is not valid any more; None if it was used or has expired."""
        ...


class Door(Protocol):
    """Decides who may use a console."""

    def has_credential(self, request: Request, /) -> bool:
        """Whether a request has a credential of its own, valid or not. Then its cookie does not count."""
        ...

    async def recognise(self, request: Request, /) -> User | None:
        """The user of a request without a session, by its credential or its connection; None if it has neither.

        Raises:
            NotAuthenticatedError: the credential is not valid.
            ForbiddenError: it does not allow the console.
        """
        ...

    async def admit(self, request: Request, key: str, /) -> User:
        """The user who enters a key on the login page.

        Raises:
            NotAuthenticatedError: the key is not valid.
            ForbiddenError: it does not allow the console.
        """
        ...

    def restore(self, reference: str, /) -> User | None:
        """The user of a session that outlived a restart; None if the credential is not valid any more."""
        ...
