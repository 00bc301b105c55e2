"""What a connection may join: decided when it connects, enforced when it joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from a2c_smcp.errors import ForbiddenError
from a2c_smcp.types import Role

ROLES: frozenset[Role] = frozenset(("agent", "computer"))


@dataclass(frozen=True, slots=True)
class Grant:
    """What a credential allows. The default allows everything."""

    offices: tuple[str, ...] = ("*",)
    """Patterns of offices, such as `acme-*`."""
    roles: frozenset[Role] = ROLES
    """`agent`, `computer` or both."""
    name: str | None = None
    """The only name that a client with it may take; None allows any."""
    subject: str | None = None
    """Who it was issued to, for logs."""
    holds: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    """Returns whether it is still valid; None if it never expires."""

    def covers(self, office_id: str) -> bool:
        """Whether the grant allows an office."""
        return any(fnmatchcase(office_id, pattern) for pattern in self.offices)

    def require(self, *, role: Role, name: str, office_id: str) -> None:
        """Check a join against the grant.

        Raises:
            ForbiddenError: the grant does not cover it.
        """
        if role not in self.roles:
            raise ForbiddenError(f"this credential does not allow the role {role!r}")
        if not self.covers(office_id):
            raise ForbiddenError(f"this credential does not allow the office {office_id!r}")
        if self.name is not None and name != self.name:
            raise ForbiddenError(f"this credential does not allow the name {name!r}")


EVERYTHING = Grant()
