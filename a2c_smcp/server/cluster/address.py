"""Where Redis is: the URL of a single Redis, of several nodes of a Redis Cluster, or of Sentinels.

    redis://[user:password@]host[:port][,host[:port]…][/database]
    rediss://…                                                   the same over TLS
    redis+sentinel://[user:password@]host[:port][,…]/name[/database]    also rediss+sentinel
    unix:///path/to/socket[?db=1]

All keys of a cluster of Servers are in one hash slot. In a Redis Cluster, the link therefore connects to one shard, and
the only difference between the kinds of Redis is how to find the right process.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from a2c_smcp.server.cluster.link import CommandFailed, LinkLost

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
_CONNECT_SECONDS = 3.0
_REDIRECTIONS = 5


@dataclass(frozen=True)
class RedisAddress:
    """A parsed URL."""

    hosts: Sequence[tuple[str, int]] = ()
    path: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    sentinel: str | None = None
    """The name of the master, if the hosts are Sentinels."""
    has_tls: bool = False
    ca_file: Path | None = None

    def __str__(self) -> str:
        """The hosts, without credentials."""
        return self.path or ", ".join(f"{host}:{port}" for host, port in self.hosts)

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        """Read a URL.

        Raises:
            ValueError: it is not the URL of a Redis. The message does not contain the URL, which has a password in it.
        """
        parts = urlsplit(url)
        scheme, _, kind = parts.scheme.partition("+")
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if unknown := sorted(query.keys() - {"db", "ca"}):
            raise ValueError(f"unknown parameter {unknown[0]!r} in the URL of Redis: only ca and db are known")
        ca_file = Path(query["ca"]) if "ca" in query else None
        if scheme == "unix":
            return cls(path=unquote(parts.path), database=_number(query.get("db", "0")))
        if scheme not in ("redis", "rediss") or kind not in ("", "sentinel"):
            raise ValueError("the URL of Redis starts with redis://, rediss://, redis+sentinel:// or unix://")
        credentials, _, places = parts.netloc.rpartition("@")
        username, _, password = credentials.partition(":")
        hosts = [_host(place, SENTINEL_PORT if kind else DEFAULT_PORT) for place in places.split(",")]
        path = [unquote(part) for part in parts.path.split("/") if part]
        name = None
        if kind:
            if not path:
                raise ValueError(
                    "the URL of Sentinels ends with the name of the master: redis+sentinel://host/mymaster"
                )
            name = path.pop(0)
        return cls(
            hosts=hosts,
            username=unquote(username) or None,
            password=unquote(password) if password else None,
            database=_number(path[0] if path else query.get("db", "0")),
            sentinel=name,
            has_tls=scheme == "rediss",
            ca_file=ca_file,
        )

    async def connect(self, key: str, on_push: Callable[[Any], None]) -> Any:
        """Connect to the Redis that holds `key`, as a `RedisConnection`.

        Raises:
            OSError, TimeoutError, LinkLost, CommandFailed: it cannot be reached.
            UnusableRedis: it cannot be used as it is.
        """
        if self.path is not None:
            return await self._open(self.path, 0, on_push)
        hosts = list(self.hosts) if self.sentinel is None else [await self._ask_sentinels(self.sentinel)]
        problem: Exception | None = None
        for host in hosts:
            try:
                return await self._follow(host, key, on_push)
            except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
                problem = error
        raise problem or OSError("no host")

    async def _follow(self, host: tuple[str, int], key: str, on_push: Callable[[Any], None]) -> Any:
        """Connect to a host, or to the one that it refers to."""
        for _ in range(_REDIRECTIONS):
            connection = await self._open(*host, on_push)
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    await connection.send("EXISTS", key)
                    role = await connection.send("ROLE")
                if role[0] == "master":
                    return connection
                raise CommandFailed(f"{host[0]}:{host[1]} is a replica")
            except CommandFailed as error:
                connection.close()
                moved = str(error).split()
                if moved[0] != "MOVED":
                    raise
                name, _, port = moved[2].rpartition(":")
                host = name or host[0], int(port)
            except BaseException:
                connection.close()
                raise
        raise OSError("Redis redirects in circles")

    async def _ask_sentinels(self, name: str) -> tuple[str, int]:
        problem: Exception = OSError(f"no Sentinel knows a master {name!r}")
        for host, port in self.hosts:
            try:
                sentinel = await self._open(host, port, lambda _: None, is_sentinel=True)
                try:
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        found = await sentinel.send("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
                finally:
                    sentinel.close()
                if found:
                    return found[0], int(found[1])
            except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
                problem = error
        raise problem

    async def _open(self, host: str, port: int, on_push: Callable[[Any], None], *, is_sentinel: bool = False) -> Any:
        from a2c_smcp.server.cluster.redis import RedisConnection

        loop = asyncio.get_running_loop()
        context = ssl.create_default_context(cafile=self.ca_file) if self.has_tls else None
        async with asyncio.timeout(_CONNECT_SECONDS):
            if self.path is not None:
                _, connection = await loop.create_unix_connection(lambda: RedisConnection(on_push), host)
            else:
                _, connection = await loop.create_connection(lambda: RedisConnection(on_push), host, port, ssl=context)
            try:
                if not is_sentinel:
                    await connection.greet(self.username, self.password, self.database)
            except BaseException:
                connection.close()
                raise
        return connection


def _host(place: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{place}")
    if not parts.hostname:
        raise ValueError("a host is missing in the URL of Redis")
    try:
        return parts.hostname, parts.port or port
    except ValueError:  # its message would quote a part of the URL, which may be the password
        raise ValueError(
            "a port in the URL of Redis is not a number up to 65535; in a password, / ? # @ are %2F %3F %23 %40"
        ) from None


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"the database in the URL of Redis is a number, not {text!r}")
    return int(text)
