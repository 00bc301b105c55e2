"""Logins in the Redis of a cluster, where every node finds them."""

from __future__ import annotations

import secrets
import time
from typing import Protocol

from a2c_smcp.errors import NotConnectedError
from a2c_smcp.server.authorization.login import Login
from a2c_smcp.server.authorization.store import LOGINS_OF_A_KEY
from a2c_smcp.server.cluster.link import CommandFailed, LinkLost
from a2c_smcp.server.reply import Reply

# The logins of a key are in a sorted set as well, by the time when they began or were renewed.
_ADD = """
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], KEYS[1])
-- A login that begins ends soon, unless its code is used. The set has the others, too.
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
local extra = redis.call('ZRANGE', KEYS[2], 0, -1 - tonumber(ARGV[4]))
for _, key in ipairs(extra) do
    redis.call('DEL', key)
    redis.call('ZREM', KEYS[2], key)
end
"""
_REPLACE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[4], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
"""


class Commands(Protocol):
    """The link to Redis."""

    def evaluate(self, text: str, tables: tuple[str, ...], *arguments: str | int) -> Reply:
        """Run a script on some tables."""
        ...

    def read(self, command: str, table: str, *arguments: str | int) -> Reply:
        """Run a command on one table."""
        ...


class RedisStore:
    """See `Store`.

    Raises:
        NotConnectedError: every method, without a connection to Redis.
    """

    def __init__(self, link: Commands) -> None:
        self._link = link
        self._secret = secrets.token_hex(32)

    async def secret(self) -> str:
        """See `Store`."""
        # Asked for each time: all nodes must have the same, also after Redis has lost it.
        await _answer(self._link.read("SET", "login-secret", self._secret, "NX"))
        self._secret = str(await _answer(self._link.read("GET", "login-secret")))
        return self._secret

    async def get(self, login_id: str) -> Login | None:
        """See `Store`."""
        found = await _answer(self._link.read("GET", f"login:{login_id}"))
        return Login.read(found) if isinstance(found, str) else None

    async def add(self, login: Login) -> None:
        """See `Store`."""
        await _answer(
            self._link.evaluate(_ADD, _tables(login), login.text(), _milliseconds(login), _now(), LOGINS_OF_A_KEY)
        )

    async def replace(self, old: Login, new: Login) -> bool:
        """See `Store`."""
        return await _answer(
            self._link.evaluate(_REPLACE, _tables(old), old.text(), new.text(), _milliseconds(new), _now())
        ) == 1  # fmt: skip

    async def remove(self, login_id: str) -> None:
        """See `Store`."""
        await _answer(self._link.read("DEL", f"login:{login_id}"))

    async def aclose(self) -> None:
        """Do nothing: the cluster closes the link."""


def _tables(login: Login) -> tuple[str, ...]:
    return f"login:{login.id}", f"logins-of:{login.key}"


def _now() -> int:
    return int(time.time() * 1000)


def _milliseconds(login: Login) -> int:
    return max(1, int((login.ends - time.time()) * 1000))


async def _answer(reply: Reply) -> object:
    try:
        return await reply
    except (LinkLost, CommandFailed) as error:
        raise NotConnectedError(f"logins cannot be read now: {error}") from None
