"""Where logins are kept: one folder for each, shared by all Computers of this user, and kept across restarts.

A login is a file that only its owner can read. If the system has a keyring, the file is encrypted with a key that the
keyring holds. The tokens themselves are not put into the keyring: some keyrings limit an entry to 2,560 bytes, and none
can be watched for a change. Secrets are in these files and in memory, and nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from cryptography.fernet import Fernet, InvalidToken
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ConfigDict

from a2c_smcp.computer.config.input_sources import Keyring
from a2c_smcp.computer.config.secrets import hide, hide_in_text
from a2c_smcp.utils.system.files import belongs_to_another, lock_folder, write_private_file
from a2c_smcp.utils.system.paths import state_folder

logger = logging.getLogger(__name__)

FILE = "login.json"
KEY = "key"
"""The entry of the keyring that holds the key."""
LOCK_PAUSE = 0.05
LOCK_SECONDS = 120.0
"""For other processes to finish with a login: a little longer than two requests to an authorization server may take."""
KEY_PAUSE = 60.0
"""Between two looks into a keyring that does not give the key: it may be unlocked later."""
EARLY = 60.0
"""Seconds before its expiry at which a token is renewed; at most a tenth of its lifetime."""

Stamp: TypeAlias = tuple[int, int, int]
"""Changes whenever a login is written."""


class StoreBusy(Exception):
    """Another process holds the lock of a login for too long."""


@dataclass(frozen=True)
class Place:
    """What a login is for."""

    url: str
    """The MCP server."""
    client: str
    """The configured client; empty if the Computer registers itself."""
    issuer: str
    """The configured authorization server; empty if the MCP server names it."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return hashlib.sha256(json.dumps([self.url, self.client, self.issuer]).encode()).hexdigest()[:32]


class Login(BaseModel):
    """A login, with all that is needed to renew it after a restart."""

    model_config = ConfigDict(frozen=True)

    url: str
    client: str = ""
    issuer: str = ""
    tokens: OAuthToken | None = None
    """None after the authorization server rejected them; the registration of the client stays."""
    requested_scope: str | None = None
    demanded_scope: str | None = None
    """The further rights that the MCP server demands, for the next login in any process."""
    obtained_at: float = 0.0
    expires_at: float | None = None
    client_info: OAuthClientInformationFull | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    authorization_server: str | None = None

    def __repr__(self) -> str:
        return "Login(…)"  # its fields are secrets, or say little

    __str__ = __repr__

    @property
    def renew_at(self) -> float | None:
        """When its token should be renewed; None if it does not expire."""
        if self.expires_at is None:
            return None
        return self.expires_at - min(EARLY, (self.expires_at - self.obtained_at) / 10)

    @property
    def is_due(self) -> bool:
        """Whether its token has expired, or is about to."""
        return self.renew_at is not None and time.time() >= self.renew_at

    @property
    def is_expired(self) -> bool:
        """Whether its token has expired."""
        return self.expires_at is not None and time.time() >= self.expires_at

    @property
    def secrets(self) -> list[str]:
        """What must not appear in any text."""
        found = [self.tokens.access_token, self.tokens.refresh_token] if self.tokens is not None else []
        return [value for value in (*found, self.client_info and self.client_info.client_secret) if value]

    def shown(self) -> dict[str, Any]:
        """The login without secrets, for its owner."""
        return {
            "url": hide_in_text(self.url, hide),
            "client": self.client_info.client_id if self.client_info is not None else self.client,
            "issuer": str(self.metadata.issuer) if self.metadata is not None else self.issuer,
            "scope": self.tokens.scope if self.tokens is not None else None,
            "state": self._state(),
            "since": _date(self.obtained_at),
            "expires": _date(self.expires_at),
        }

    def _state(self) -> str:
        if self.tokens is None:
            return "login needed"
        return "expired" if self.is_expired and not self.tokens.refresh_token else "logged in"


def _date(seconds: float | None) -> str | None:
    """A time for a program to read; None if there is none, or it is beyond all calendars."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
    except (ValueError, OverflowError, OSError):  # a lifetime is whatever the authorization server says
        return None


class LoginStore:
    """The logins of this user on this machine."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._key: Fernet | None = None
        self._looked_at: float | None = None

    @property
    def folder(self) -> Path:
        """Where the logins are.

        Raises:
            OSError: this user has no home.
        """
        try:
            return self._folder or state_folder() / "logins"
        except RuntimeError as error:
            raise OSError(str(error)) from None

    # -------------------------------------------------------------------------------------------------------- one login

    def stamp(self, place: Place) -> Stamp | None:
        """A value that changes whenever this login is written; None if there is none. One look at the file system."""
        try:
            status = (self.folder / place.name / FILE).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    async def load(self, place: Place) -> Login | None:
        """The stored login; None if there is none, or it cannot be read."""
        try:
            file = self.folder / place.name / FILE
        except OSError:
            return None
        return await self._read(file)

    async def save(self, place: Place, login: Login) -> None:
        """Store a login.

        Raises:
            OSError: it cannot be written.
        """
        data = login.model_dump_json(exclude_none=True)
        key = await self._look_for_key()
        kept = {"sealed": key.encrypt(data.encode()).decode()} if key is not None else {"login": json.loads(data)}
        await asyncio.to_thread(write_private_file, self.folder / place.name / FILE, json.dumps(kept).encode())

    async def delete(self, place: Place) -> bool:
        """Remove a login; whether there was one.

        Raises:
            OSError: it cannot be removed.
        """
        try:
            await asyncio.to_thread(os.unlink, self.folder / place.name / FILE)
        except FileNotFoundError:
            return False
        return True

    async def all(self) -> list[Login]:
        """Every login that can be read, by the address of its server."""
        files = await asyncio.to_thread(lambda: sorted(self.folder.glob(f"*/{FILE}")))
        found = [await self._read(file) for file in files]
        return sorted((login for login in found if login is not None), key=lambda login: login.url)

    @asynccontextmanager
    async def locked(self, place: Place) -> AsyncGenerator[None]:
        """Keep other processes, and other Computers of this one, from changing a login while the block runs.

        Raises:
            StoreBusy: the lock is held for too long.
            OSError: the folder cannot be created, or belongs to another user.
        """
        async with self._lock(self.folder / place.name):
            yield

    # -------------------------------------------------------------------------------------------------------- internals

    @asynccontextmanager
    async def _lock(self, folder: Path) -> AsyncGenerator[None]:
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        for each in (self.folder, folder):
            if belongs_to_another(each):  # as with `sudo --preserve-env a2c …`, or after it
                raise PermissionError(f"{each} belongs to another user")
        deadline = time.monotonic() + LOCK_SECONDS
        while (handle := lock_folder(folder)) is None:
            if time.monotonic() > deadline:
                raise StoreBusy(f"another process keeps {folder} locked")
            await asyncio.sleep(LOCK_PAUSE)
        try:
            yield
        finally:
            os.close(handle)

    async def _read(self, file: Path) -> Login | None:
        try:
            kept: dict[str, Any] = json.loads(await asyncio.to_thread(file.read_bytes))
            if "sealed" in kept:
                key = await self._look_for_key(is_needed=True)
                if key is None:
                    logger.warning("%s is encrypted, and the keyring does not give the key: unlock it, or log in", file)
                    return None
                return Login.model_validate_json(key.decrypt(kept["sealed"]))
            return Login.model_validate(kept["login"])
        except FileNotFoundError:
            return None
        except (OSError, StoreBusy, ValueError, KeyError, TypeError, InvalidToken) as error:
            # The text of a validation error contains values, which are secrets here.
            logger.warning("%s is not a login that can be read (%s); log in again", file, type(error).__name__)
            return None

    async def _look_for_key(self, *, is_needed: bool = False) -> Fernet | None:
        """The key in the keyring, created if there is none yet; None without a keyring. If it `is_needed`, a keyring
        that gave no key a while ago is asked again."""
        if self._looked_at is not None and (
            self._key is not None or not is_needed or time.monotonic() < self._looked_at + KEY_PAUSE
        ):
            return self._key
        async with self._lock(self.folder):  # two processes must not create two keys
            # A new one for each look: it does not ask a keyring again that failed, or did not answer.
            keyring = Keyring("logins", "logins are kept in files that only their owner can read", logging.INFO)
            text = await keyring.get(KEY)
            if text is None:
                await keyring.set(KEY, Fernet.generate_key().decode())
                text = await keyring.get(KEY)  # some keyrings accept everything and store nothing
        with contextlib.suppress(ValueError):
            self._key = Fernet(text) if text is not None else None
        self._looked_at = time.monotonic()
        return self._key
