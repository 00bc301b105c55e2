"""Grants: what a credential allows. It is decided when a client connects, and enforced at each join."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

from a2c_smcp.errors import ForbiddenError
from a2c_smcp.types import Role

ROLES: frozenset[Role] = frozenset(("agent", "computer"))


@dataclass(frozen=True, slots=True)
class Grant:
    """The permissions of a credential. The default allows everything."""

    offices: tuple[str, ...] = ("*",)
    """Patterns of offices, such as `acme-*`."""
    roles: frozenset[Role] = ROLES
    """`agent`, `computer` or both."""
    name: str | None = None
    """The only name that a client with it may take; None allows any."""
    subject: str | None = None
    """The id of the holder, for logs."""
    admin: bool = False
    """Whether it allows to administer the Server: its console and its API. The default does not."""
    holds: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    """Returns whether it is still valid; None if it never expires."""

    @classmethod
    def of(cls, entry: Mapping[str, Any], subject: object) -> Grant:
        """A grant from an entry of a key file, or from the claims of a token.

        Raises:
            ValueError: a field has the wrong form.
        """
        name = entry.get("name")
        if name is not None and not isinstance(name, str):
            raise ValueError("name: a string is expected")
        roles = set(_strings(entry, "roles")) if "roles" in entry else set[str](ROLES)
        if not roles <= ROLES:
            raise ValueError("roles: agent and computer are the roles")
        # `roles` and `name` may be missing, `offices` may not: an entry that forgets it must not allow every office.
        return cls(
            offices=tuple(_strings(entry, "offices")),
            roles=frozenset(cast("set[Role]", roles)),
            name=name,
            subject=str(subject) if subject is not None else None,
            admin=_flag(entry, "admin"),
        )

    def covers(self, office_id: str) -> bool:
        """Whether the grant allows an office."""
        # Not `fnmatch`, which ignores case on Windows: office ids are case-sensitive everywhere.
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


def _flag(entry: Mapping[str, Any], field: str) -> bool:
    value = entry.get(field, False)
    # Not what Python takes for true: a text such as "no" must not make anybody an administrator.
    if not isinstance(value, bool):
        raise ValueError(f"{field}: true or false is expected")
    return value


def _strings(entry: Mapping[str, Any], field: str) -> list[str]:
    value: object = entry.get(field)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise ValueError(f"{field}: a list of strings is expected")
    return cast("list[str]", value)


EVERYTHING = Grant()
