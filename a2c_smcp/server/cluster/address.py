"""Where Redis is: the URL of a single Redis, of several nodes of a Redis Cluster, or of Sentinels.

    redis://[user:password@]host[:port][,host[:port]…][/database]
    rediss://…                                                   the same over TLS
    redis+sentinel://[user:password@]host[:port][,…]/name[/database]    also rediss+sentinel
    unix://[user:password@]/path/to/socket[?db=1]

With TLS, `?ca=FILE` names the certificates to trust.

All keys of a cluster of Servers are in one hash slot. In a Redis Cluster, the link therefore connects to one shard, and
the only difference between the kinds of Redis is how to find the right process.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from a2c_smcp.server.cluster.connection import RedisConnection
from a2c_smcp.server.cluster.link import CommandFailed, LinkLost, UnusableRedis

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
_REDIRECTIONS = 5
_UNIX = 0
"""The port of a Unix socket."""
_SCHEMES = {("redis", ""), ("rediss", ""), ("redis", "sentinel"), ("rediss", "sentinel"), ("unix", "")}
_ESCAPE = "write % / ? # and @ in a password as %25 %2F %3F %23 and %40"


@dataclass(frozen=True)
class RedisAddress:
    """A parsed URL."""

    hosts: tuple[tuple[str, int], ...] = ()
    path: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    sentinel: str | None = None
    """The name of the master, if the hosts are Sentinels."""
    has_tls: bool = False
    ca_file: Path | None = None
    connect_seconds: float = 3.0
    """The longest that each step of connecting may take."""

    def __str__(self) -> str:
        """The hosts, without credentials."""
        hosts = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        return self.path or ", ".join(hosts)

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        """Read a URL.

        Raises:
            ValueError: it is not the URL of a Redis. The message contains no part of the URL, which has a password in
                it, perhaps at the wrong place.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ValueError(f"the URL of Redis is invalid: {_ESCAPE}") from None
        scheme, _, kind = parts.scheme.partition("+")
        if (scheme, kind) not in _SCHEMES:
            raise ValueError("the URL of Redis starts with redis://, rediss://, redis+sentinel:// or unix://")
        if parts.fragment or "@" in parts.path + parts.query:
            raise ValueError(f"the URL of Redis is invalid: {_ESCAPE}")
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        if query.keys() - {"db", "ca"}:
            raise ValueError("the URL of Redis has an unknown parameter: only ca and db are known")
        credentials, _, places = parts.netloc.rpartition("@")
        username, _, password = credentials.partition(":")
        path = [unquote(part) for part in parts.path.split("/") if part]
        name = socket = None
        hosts: list[tuple[str, int]] = []
        if scheme == "unix":
            if places or not path:
                raise ValueError("the URL of a Unix socket has three slashes and its path: unix:///run/redis.sock")
            socket, path = unquote(parts.path), []
        else:
            hosts = [_host(place, SENTINEL_PORT if kind else DEFAULT_PORT) for place in places.split(",")]
        if kind:
            if not path:
                raise ValueError(
                    "the URL of Sentinels ends with the name of the master: redis+sentinel://host/mymaster"
                )
            name = path.pop(0)
        if len(path) > 1:
            raise ValueError("the URL of Redis has only the number of the database after the host")
        return cls(
            hosts=tuple(hosts),
            path=socket,
            username=unquote(username) or None,
            password=unquote(password) if password else None,
            database=_number(path[0] if path else query.get("db", "0")),
            sentinel=name,
            has_tls=scheme == "rediss",
            ca_file=Path(query["ca"]) if "ca" in query else None,
        )

    async def connect(self, key: str, on_push: Callable[[Any], None]) -> RedisConnection:
        """Connect to the Redis that holds `key`.

        Raises:
            OSError, TimeoutError, LinkLost, CommandFailed: it cannot be reached.
            UnusableRedis: it cannot be used as it is.
        """
        if self.path is not None:
            hosts = [(self.path, _UNIX)]
        elif self.sentinel is not None:
            hosts = [await self._ask_sentinels(self.sentinel)]
        else:
            hosts = list(self.hosts)
        problem: Exception = OSError("no host")
        for host in hosts:
            try:
                return await self._follow(host, key, on_push)
            except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
                if str(error).startswith("NOPERM"):
                    raise UnusableRedis(f"the user of Redis lacks a permission: {error}") from None
                problem = error
        raise problem

    async def _follow(self, host: tuple[str, int], key: str, on_push: Callable[[Any], None]) -> RedisConnection:
        """Connect to a host, or to the one that it refers to."""
        for _ in range(_REDIRECTIONS):
            connection = await self._open(*host, on_push)
            try:
                async with asyncio.timeout(self.connect_seconds):
                    await connection.greet(self.username, self.password, self.database)
                    await connection.send("EXISTS", key)
                    role = await connection.send("ROLE")
                if role[0] == "master":
                    return connection
                raise CommandFailed("it is a replica")
            except CommandFailed as error:
                connection.close()
                moved = str(error).split()
                if moved[0] != "MOVED":
                    raise
                name, _, port = moved[2].rpartition(":")
                # Without a name, or with "?", it is this host: the node does not know how clients reach it.
                host = host[0] if name in ("", "?") else name, int(port)
            except BaseException:
                connection.close()
                raise
        raise OSError("Redis redirects in circles")

    async def _ask_sentinels(self, name: str) -> tuple[str, int]:
        problem: Exception | None = None
        for host, port in self.hosts:
            try:
                sentinel = await self._open(host, port, lambda _: None)
                try:
                    async with asyncio.timeout(self.connect_seconds):
                        found = await self._ask_sentinel(sentinel, name)
                finally:
                    sentinel.close()
                if found:
                    return found[0], int(found[1])
                problem = OSError(f"no Sentinel knows a master {name!r}")
            except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
                problem = problem or error
        raise problem or OSError("no Sentinel")

    async def _ask_sentinel(self, sentinel: RedisConnection, name: str) -> Any:
        question = ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
        try:
            return await sentinel.send(*question)
        except CommandFailed as error:
            # Sentinels often have no password where Redis has one, and else the same.
            if self.password is None or not str(error).startswith("NOAUTH"):
                raise
        await sentinel.send("AUTH", *([self.username] if self.username else []), self.password)
        return await sentinel.send(*question)

    async def _open(self, host: str, port: int, on_push: Callable[[Any], None]) -> RedisConnection:
        loop = asyncio.get_running_loop()
        context = self._tls_context() if self.has_tls else None
        async with asyncio.timeout(self.connect_seconds):
            if port == _UNIX:
                _, connection = await loop.create_unix_connection(lambda: RedisConnection(on_push), host)
            else:
                _, connection = await loop.create_connection(lambda: RedisConnection(on_push), host, port, ssl=context)
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise UnusableRedis(f"the certificates in {self.ca_file} cannot be read: {error}") from None


def _host(place: str, default: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("a host in the URL of Redis is invalid: its port is a number up to 65535") from None
    if not host:
        raise ValueError("a host is missing in the URL of Redis")
    return host, port or default


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("the database in the URL of Redis is a number")
    return int(text)
