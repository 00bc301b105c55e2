"""The keys of the Server's key file."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from a2c_smcp.console.hub.shapes import KeyInfo, MadeKey
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.errors import ConflictError, InternalError, MalformedRequestError, NameTakenError, NotFoundError
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.key_changes import NewKey, add_key, keys_of, remove_key
from a2c_smcp.server.last_used import path_beside, read_uses
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")


class KeyRing:
    """Lists, adds and removes keys."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration
        self._turn = asyncio.Lock()

    async def show(self, asked: Asked) -> list[KeyInfo]:
        """All keys."""
        return await self._in_file(_read)

    async def add(self, asked: Asked) -> MadeKey:
        """Create a key."""
        form: dict[str, Any] = asked.body
        expires: datetime | None = form.get("expires")
        if expires is not None and expires.tzinfo is None:
            raise MalformedRequestError("expires: a time zone is missing, such as Z")
        new = NewKey(
            id=form["id"],
            offices=form.get("offices", ()),
            roles=form.get("roles"),
            name=form.get("name"),
            admin=form.get("admin", False),
            expires=expires,
        )
        key = await self._in_file(lambda path: add_key(path, new))
        logger.warning("%s added the key %r", asked.sender.name, one_line(new.id))
        return {"id": new.id, "key": key}

    async def remove(self, asked: Asked) -> None:
        """Remove a key: its connections are closed."""
        key_id = asked.path["id"]
        await self._in_file(lambda path: remove_key(path, key_id))
        logger.warning("%s removed the key %r", asked.sender.name, one_line(key_id, 256))

    async def _in_file(self, change: Callable[[Path], ResultT]) -> ResultT:
        """Do something with the file, in a thread. Changes come one after another."""
        file = self._administration.key_file
        if file is None:
            raise NotFoundError("this Server has no key file: start it with --keys-file")
        async with self._turn:
            try:
                return await asyncio.to_thread(change, file.path)
            except OSError as error:
                raise InternalError(f"the key file cannot be used: {error.strerror or error}") from None
            except ValueError as error:
                raise InternalError(f"the key file is not valid: {error}") from None
            except NameTakenError as error:
                raise ConflictError(error.message) from None


def _read(path: Path) -> list[KeyInfo]:
    uses = read_uses(path_beside(path))
    listed: list[KeyInfo] = []
    for key in keys_of(path):
        listed.append(
            {
                "id": key.get("id"),
                "offices": key["offices"],
                "roles": key.get("roles", ["agent", "computer"]),
                "name": key.get("name"),
                "admin": key.get("admin", False),
                "created": key.get("created"),
                "expires": key.get("expires"),
                "last_used": uses.get(key["hash"]),
                # `rotate` puts the new key first.
                "is_replaced": any(each["id"] == key.get("id") for each in listed),
            }
        )
    return listed
