"""API keys in a TOML file, stored as hashes: reading, writing and checking them. See `a2c keys`."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from datetime import time as day_time
from functools import partial
from pathlib import Path
from typing import Any, cast

from a2c_smcp.errors import NotAuthenticatedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.last_used import LastUsed, write_privately

logger = logging.getLogger(__name__)

KEY_PREFIX = "a2c_"
LOOK_SECONDS = 1.0
"""Seconds between two checks of the file for changes, while connections are open."""
MOST_NAMES = 10
"""Ids in the description of a change."""
_FIELDS = {"id", "hash", "offices", "roles", "name", "admin", "created", "expires"}
# tomllib gives no line numbers. This finds the line of a key for error messages, and only for them.
_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*keys[ \t]*\]\]", re.MULTILINE)


class ExpiredKeyError(NotAuthenticatedError):
    """The key was valid once. `subject` is its id."""

    def __init__(self, subject: str | None, expired: datetime) -> None:
        name = f" {subject!r}" if subject is not None else ""
        since = f"{expired:%Y-%m-%d %H:%M} UTC"
        super().__init__(f"the API key{name} expired on {since}: ask the Server's operator for a new one")
        self.subject = subject


@dataclass(frozen=True, slots=True)
class Key:
    """An API key: what it allows, and until when."""

    grant: Grant
    expires: datetime | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the key has expired."""
        return self.expires is not None and time.time() >= self.expires.timestamp()


class KeyFile:
    """A `Verifier` of the keys in a file. The file is read again when it changes."""

    def __init__(self, path: str | Path, look_seconds: float = LOOK_SECONDS) -> None:
        self.path = Path(path)
        self._keys: Mapping[str, Key] = {}
        # Read before the file: a change between the two is found by the next look. After the file, it would be missed.
        self._stamp: tuple[int, int] | None = self._read_stamp()
        """Time and size of the file when it was last read; None if that failed."""
        self._problem = ""
        """The error that was logged last, so that it is not logged again and again."""
        self._look_seconds = look_seconds
        self._looked_at = 0.0
        self._last_used = LastUsed(self.path, lambda: self._keys)
        self.take(self.read())
        logger.info("key file %s: %d keys", self.path, len(self._keys))

    def verify(self, credential: str) -> Grant | None:
        """Look a key up by its hash.

        Raises:
            ExpiredKeyError: the key is in the file and has expired.
        """
        self._refresh()
        hashed = hash_key(credential)
        key = self._keys.get(hashed)
        # Found by its hash, in a dict. How long that takes says nothing about the key: an attacker cannot choose the
        # hash.
        if key is None:
            return None
        if key.is_expired and key.expires is not None:
            raise ExpiredKeyError(key.grant.subject, key.expires)
        self._last_used.note(hashed)
        return replace(key.grant, holds=partial(self._holds, hashed, key.grant))

    def reference(self, credential: str) -> str | None:
        """What identifies a valid key later, without the key itself; see `LastingVerifier`.

        Raises:
            ExpiredKeyError: the key is in the file and has expired.
        """
        return hash_key(credential) if self.verify(credential) is not None else None

    def grant_of(self, reference: str) -> Grant | None:
        """What the key with this reference allows now; None if it was removed or has expired."""
        if time.monotonic() - self._looked_at > self._look_seconds:
            self._refresh()
        key = self._keys.get(reference)
        if key is None or key.is_expired:
            return None
        self._last_used.note(reference)
        return replace(key.grant, holds=partial(self._holds, reference, key.grant))

    def read(self) -> Mapping[str, Key]:
        """Read the keys of the file.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a valid key file; the message says where.
        """
        return {
            entry["hash"]: Key(Grant.of(entry, entry.get("id")), entry.get("expires")) for entry in read_keys(self.path)
        }

    def take(self, keys: Mapping[str, Key]) -> str:
        """Use these keys from now on; a description of what changes, or an empty string."""
        before, self._keys, self._problem = self._keys, keys, ""
        return _describe(before, keys)

    def last_uses(self) -> dict[str, datetime]:
        """The time of the last use of each key, by its hash."""
        return self._last_used.all()

    def close(self) -> None:
        """Write the times of the last uses to disk."""
        self._last_used.close()

    def _holds(self, hashed: str, grant: Grant) -> bool:
        """Whether a key is in the file, allows the same as before, and has not expired."""
        # `GrantWatch` asks for every open connection, one after another. One look at the file is enough for all of
        # them.
        if time.monotonic() - self._looked_at > self._look_seconds:
            self._refresh()
        key = self._keys.get(hashed)
        # A changed grant ends the connection, too: the client reconnects, and gets what the key allows from then on.
        if key is None or key.grant != grant or key.is_expired:
            return False
        self._last_used.note(hashed)
        return True

    def _read_stamp(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_mtime_ns, status.st_size

    def _refresh(self) -> None:
        self._looked_at = time.monotonic()
        try:
            stamp = self._read_stamp()
            if stamp == self._stamp:
                return
            self._stamp = stamp  # also of an invalid file: it stays invalid until it changes
            if changes := self.take(self.read()):
                logger.info("key file %s: %s", self.path, changes)
        except (OSError, ValueError) as error:
            # The keys that were read before stay valid: a file that is being edited, and is invalid for a moment, must
            # not disconnect all clients, and must not let unknown ones in either.
            if isinstance(error, OSError):
                self._stamp = None
            if str(error) != self._problem:
                self._problem = str(error)
                logger.error("%s; the keys read before stay in force", error)


def hash_key(key: str) -> str:
    """The stored form of an API key. Keys are 256 random bits, so a plain hash is enough."""
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def mint_key() -> str:
    """A new random API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def read_keys(path: Path) -> list[dict[str, Any]]:
    """The entries of a key file; `created` and `expires` are times in UTC.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a valid key file; the message names file and line.
    """
    text = path.read_text("utf-8")
    try:
        entries: object = tomllib.loads(text).get("keys", [])
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(entries, list):
        raise ValueError(f"{path}: [[keys]] tables are expected")
    keys: list[dict[str, Any]] = []
    for number, entry in enumerate(cast("list[Any]", entries), 1):
        try:
            keys.append(_read_key(entry))
        except ValueError as error:
            raise ValueError(f"{path}{_line_of(text, number)}: keys[{number}]: {error}") from None
    return keys


def write_keys(path: Path, keys: Sequence[dict[str, Any]]) -> None:
    """Replace a key file, readable by its owner only."""
    blocks = ["# API keys of an A2C Server, as hashes. Made by `a2c keys`; the Server reads changes by itself.\n"]
    for key in keys:
        lines = [f"{field} = {_write_value(value)}" for field, value in key.items()]
        blocks.append("[[keys]]\n" + "\n".join(lines) + "\n")
    write_privately(path, "\n".join(blocks))


def read_time(value: object) -> datetime:
    """A time in UTC, from a date or time or its text; a date means the end of that day.

    Raises:
        ValueError: the value is not a date or time.
    """
    try:
        if isinstance(value, str):
            value = date.fromisoformat(value) if len(value) == len("2026-12-31") else datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a date or time such as 2026-12-31 or 2026-12-31T18:00:00Z") from None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime.combine(value, day_time(23, 59, 59), UTC)
    raise ValueError("a date or time is expected")


def _read_key(entry: object) -> dict[str, Any]:
    if not isinstance(entry, dict) or not str(cast("Any", entry).get("hash", "")).startswith("sha256:"):
        raise ValueError('a table with hash = "sha256:…" is expected')
    key = cast("dict[str, Any]", entry)
    if unknown := set(key) - _FIELDS:
        raise ValueError(f"unknown field {min(unknown)!r}")
    Grant.of(key, key.get("id"))
    for field in {"created", "expires"} & set(key):
        try:
            key[field] = read_time(key[field])
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    return key


def _write_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(value, ensure_ascii=False)  # JSON strings and lists of strings are valid TOML


def _line_of(text: str, number: int) -> str:
    """The line of a key's table, for a message; empty if the keys are not written as `[[keys]]` tables."""
    tables = list(_TABLE.finditer(text))
    return f", line {text.count(chr(10), 0, tables[number - 1].start()) + 1}" if number <= len(tables) else ""


def _describe(before: Mapping[str, Key], after: Mapping[str, Key]) -> str:
    """The differences between two sets of keys, by their ids."""
    changed = {hashed for hashed in before.keys() & after.keys() if before[hashed] != after[hashed]}
    parts = [
        f"{verb} {_names(keys[hashed].grant.subject for hashed in hashes)}"
        for verb, keys, hashes in (
            ("added", after, after.keys() - before.keys()),
            ("changed", after, changed),
            ("removed", before, before.keys() - after.keys()),
        )
        if hashes
    ]
    return ", ".join(parts)


def _names(subjects: Any) -> str:
    names = sorted(repr(subject) if subject is not None else "one without an id" for subject in subjects)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
