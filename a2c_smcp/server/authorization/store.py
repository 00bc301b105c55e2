"""Where logins are kept: in memory, in a folder beside the key file, or in Redis (`redis_store.py`)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import time
from pathlib import Path
from typing import Protocol

from a2c_smcp.server.authorization.login import Login
from a2c_smcp.utils.system.files import lock_folder, write_private_file

logger = logging.getLogger(__name__)

LOGINS_OF_A_KEY = 1_000
"""Logins with one key. When there are more, the one ends that was not renewed for the longest time."""


class Store(Protocol):
    """Keeps logins until they end, and a secret. Every change is kept when its method returns."""

    async def secret(self) -> str:
        """A random text that stays the same; what the Server signs for itself is signed with it."""
        ...

    async def get(self, login_id: str) -> Login | None:
        """A login, if it has not ended."""
        ...

    async def add(self, login: Login) -> None:
        """Keep a new login."""
        ...

    async def replace(self, old: Login, new: Login) -> bool:
        """Change a login; whether it still was as before."""
        ...

    async def remove(self, login_id: str) -> None:
        """End a login."""
        ...

    async def aclose(self) -> None:
        """Stop."""
        ...


class MemoryStore:
    """Logins of one process. With a folder, they survive a restart of it.

    A folder belongs to one process at a time. Another Server that uses the same key file keeps its logins in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._logins: dict[str, Login] = {}
        """In the order in which they began or were renewed."""
        self._secret = secrets.token_hex(32)
        self._is_open = False
        self._turn = asyncio.Lock()
        self._changes = 0
        self._written = 0

    async def secret(self) -> str:
        """See `Store`."""
        await self._open()
        return self._secret

    async def get(self, login_id: str) -> Login | None:
        """See `Store`."""
        await self._open()
        login = self._logins.get(login_id)
        return login if login is not None and login.ends > time.time() else None

    async def add(self, login: Login) -> None:
        """See `Store`."""
        await self._open()
        now = time.time()
        self._logins = {each.id: each for each in self._logins.values() if each.ends > now}
        self._logins[login.id] = login
        same = [each.id for each in self._logins.values() if each.key == login.key]
        for extra in same[:-LOGINS_OF_A_KEY]:
            del self._logins[extra]
        await self._save()

    async def replace(self, old: Login, new: Login) -> bool:
        """See `Store`."""
        if await self.get(old.id) != old:
            return False
        del self._logins[old.id]
        self._logins[new.id] = new
        await self._save()
        return True

    async def remove(self, login_id: str) -> None:
        """See `Store`."""
        await self._open()
        if self._logins.pop(login_id, None) is not None:
            await self._save()

    async def aclose(self) -> None:
        """See `Store`."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    # ----------------------------------------------------------------------------------------------------------- folder

    async def _open(self) -> None:
        if self._is_open:
            return
        async with self._turn:
            if not self._is_open and self._folder is not None:
                await asyncio.to_thread(self._read, self._folder)
            self._is_open = True

    def _read(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            logger.warning("%s cannot be created: %s; logins of MCP hosts end with this process", folder, error)
            return
        self._handle = lock_folder(folder)
        if self._handle is None:
            logger.warning("%s belongs to another process or user; logins of MCP hosts end with this process", folder)
            return
        file = folder / "logins.json"
        try:
            found = json.loads(file.read_text("utf-8"))
            logins = [Login.read(json.dumps(each)) for each in found["logins"]]
            self._secret, self._logins = str(found["secret"]), {login.id: login for login in logins}
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.error("%s cannot be read: %s; MCP hosts have to log in again", file, error)

    async def _save(self) -> None:
        """Write the logins. Changes that come during a write share the next one."""
        self._changes += 1
        mine = self._changes
        async with self._turn:
            if self._handle is None or self._folder is None or self._written >= mine:
                return
            # Written from a copy: the loop goes on to change the logins.
            logins, upto = list(self._logins.values()), self._changes
            try:
                await asyncio.to_thread(self._write, self._folder / "logins.json", logins)
            except OSError as error:
                logger.error("%s cannot be written: %s; a restart ends new logins", self._folder, error)
            self._written = upto

    def _write(self, file: Path, logins: list[Login]) -> None:
        body = ",\n".join(login.text() for login in logins)
        write_private_file(file, f'{{"secret":{json.dumps(self._secret)},"logins":[{body}]}}\n'.encode())
