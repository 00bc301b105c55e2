"""Changes of a key file: add, replace and remove keys. `a2c keys` and the console share the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from a2c_smcp.errors import MalformedRequestError, NameTakenError, NotFoundError
from a2c_smcp.server.key_file import hash_key, mint_key, read_keys, write_keys

MOST_LENGTH = 256


@dataclass(frozen=True, slots=True)
class NewKey:
    """What a new key allows."""

    id: str
    offices: Sequence[str] = ()
    roles: Sequence[str] | None = None
    name: str | None = None
    admin: bool = False
    expires: datetime | None = None

    def check(self) -> None:
        """Check the values.

        Raises:
            MalformedRequestError: one is not valid; the message begins with its name.
        """
        name = [("name", self.name)] if self.name is not None else []
        for field, text in [("id", self.id), *(("office", each) for each in self.offices), *name]:
            if not text or len(text) > MOST_LENGTH or not text.isprintable():
                raise MalformedRequestError(f"{field}: 1 to {MOST_LENGTH} printable characters are expected")
        if not self.offices and not self.admin:
            raise MalformedRequestError("office: a key for no office and no administration allows nothing")
        if not set(self.roles or ()) <= {"agent", "computer"}:
            raise MalformedRequestError("role: must be agent or computer")
        if self.expires is not None and self.expires <= now():
            raise MalformedRequestError("expires: must be in the future")


def now() -> datetime:
    """The time in UTC, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def keys_of(path: Path) -> list[dict[str, Any]]:
    """The entries of a key file, none if it does not exist.

    Raises:
        OSError, ValueError: see `read_keys`.
    """
    try:
        return read_keys(path)
    except FileNotFoundError:
        return []


def add_key(path: Path, new: NewKey) -> str:
    """Add a key to a file; the key itself, which is not stored.

    Raises:
        MalformedRequestError: a value is not valid.
        NameTakenError: there is a key with this id.
        OSError, ValueError: the file cannot be read or written.
    """
    new.check()
    keys = keys_of(path)
    if any(key.get("id") == new.id for key in keys):
        raise NameTakenError(f"{path} already has a key {new.id!r}")
    key = mint_key()
    entry: dict[str, Any] = {
        "id": new.id,
        "hash": hash_key(key),
        "offices": list(new.offices),
        "roles": list(new.roles) if new.roles else None,
        "name": new.name,
        "admin": True if new.admin else None,
        "created": now(),
        "expires": new.expires,
    }
    write_keys(path, [*keys, {field: value for field, value in entry.items() if value is not None}])
    return key


def remove_key(path: Path, key_id: str) -> None:
    """Remove a key, also the one that it replaced.

    Raises:
        NotFoundError: there is none with this id.
        OSError, ValueError: the file cannot be read or written.
    """
    keys = read_keys(path)
    rest = [key for key in keys if key.get("id") != key_id]
    if len(rest) == len(keys):
        raise NotFoundError(f"{path} has no key {key_id!r}")
    write_keys(path, rest)
