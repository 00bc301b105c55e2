"""A model of Redis in memory: the commands that the scripts use, the scripts themselves in a Lua interpreter, and
pub/sub, which loses messages to a subscriber that is not connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import lupa.lua51 as lupa

from a2c_smcp.server.cluster.redis import SCRIPTS, script

PREFIX = "{a2c}"


class RedisModel:
    """One Redis process. `clock` is its wall clock, in seconds."""

    def __init__(
        self, clock: Callable[[], float], make_id: Callable[[], str], scripts: Callable[[str], str] = script
    ) -> None:
        self._clock = clock
        self._make_id = make_id
        self.tables: dict[str, Any] = {}
        self.subscribers: dict[str, Callable[[bytes], None]] = {}
        self.commands = 0
        self.run_id = make_id()
        self.started = clock()
        self._lua: Any = cast("Any", lupa).LuaRuntime(encoding="utf-8")
        compiled = self._lua.eval("function(text) return assert(loadstring(text))() end")
        self._lua.globals().redis = self._lua.table_from({"call": self._call_from_lua})
        self._scripts = {name: compiled(f"return function(KEYS, ARGV) {scripts(name)} end") for name in SCRIPTS}

    @property
    def uptime(self) -> float:
        return max(0.0, self._clock() - self.started)

    def restart(self, *, loses_data: bool) -> None:
        """Start again: subscriptions are gone, perhaps the data too."""
        self.run_id = self._make_id()
        self.started = self._clock()
        self.subscribers.clear()
        if loses_data:
            self.tables.clear()

    # --------------------------------------------------------------------------------------------------------- commands

    def run(self, name: str, node: str, connection: int, *arguments: str | int) -> Any:
        """Run a script."""
        self.commands += 1
        arguments_table = self._lua.table_from([PREFIX, node, str(connection), "PUBLISH", *map(str, arguments)])
        return _from_lua(self._scripts[name](self._lua.table_from([f"{PREFIX}:nodes"]), arguments_table))

    def read(self, command: str, table: str, *arguments: str | int) -> Any:
        """Run one command."""
        self.commands += 1
        return self._call(command, f"{PREFIX}:{table}", *map(str, arguments))

    def publish(self, node: str, message: bytes) -> None:
        """Send a message to a node, if it is subscribed."""
        self.commands += 1
        self._publish(f"{PREFIX}:inbox:{node}", message)

    def _publish(self, channel: str, message: str | bytes) -> int:
        deliver = self.subscribers.get(channel)
        if deliver is not None:
            deliver(message.encode() if isinstance(message, str) else message)
        return int(deliver is not None)

    def _call_from_lua(self, command: str, *arguments: Any) -> Any:
        # Lua's numbers are floats here; Redis formats integral ones as integers.
        answer = self._call(command, *(cast("str", _text(argument)) for argument in arguments))
        if isinstance(answer, list):
            return self._lua.table_from(answer)
        return False if answer is None else answer

    def _call(self, command: str, *arguments: str) -> Any:
        return getattr(self, f"_{command.lower()}")(*arguments)

    def _empty(self, key: str, table: Any) -> None:
        if not table:
            self.tables.pop(key, None)

    def _time(self) -> list[str]:
        now = self._clock()
        return [str(int(now)), str(int(now % 1 * 1_000_000))]

    def _get(self, key: str) -> str | None:
        return self.tables.get(key)

    def _set(self, key: str, value: str) -> str:
        self.tables[key] = value
        return "OK"

    def _del(self, key: str) -> int:
        return int(self.tables.pop(key, None) is not None)

    def _exists(self, key: str) -> int:
        return int(key in self.tables)

    def _incr(self, key: str) -> int:
        self.tables[key] = str(int(self.tables.get(key, "0")) + 1)
        return int(self.tables[key])

    def _decr(self, key: str) -> int:
        self.tables[key] = str(int(self.tables.get(key, "0")) - 1)
        return int(self.tables[key])

    def _hset(self, key: str, field: str, value: str) -> int:
        table = self.tables.setdefault(key, {})
        is_new = field not in table
        table[field] = value
        return int(is_new)

    def _hget(self, key: str, field: str) -> str | None:
        return self.tables.get(key, {}).get(field)

    def _hdel(self, key: str, field: str) -> int:
        table = self.tables.get(key, {})
        removed = table.pop(field, None)
        self._empty(key, table)
        return int(removed is not None)

    def _hincrby(self, key: str, field: str, by: str) -> int:
        table = self.tables.setdefault(key, {})
        table[field] = str(int(table.get(field, "0")) + int(by))
        return int(table[field])

    def _hkeys(self, key: str) -> list[str]:
        return list(self.tables.get(key, {}))

    def _hlen(self, key: str) -> int:
        return len(self.tables.get(key, {}))

    def _hgetall(self, key: str) -> list[str]:
        return [part for item in self.tables.get(key, {}).items() for part in item]

    def _hrandfield(self, key: str, count: str) -> list[str]:
        return list(self.tables.get(key, {}))[: int(count)]

    def _sadd(self, key: str, member: str) -> int:
        self.tables.setdefault(key, {})[member] = None
        return 1

    def _srem(self, key: str, member: str) -> int:
        return self._hdel(key, member)

    def _srandmember(self, key: str, count: str) -> list[str]:
        return list(self.tables.get(key, {}))[: int(count)]

    def _zadd(self, key: str, score: str, member: str) -> int:
        return self._hset(key, member, score)

    def _zscore(self, key: str, member: str) -> str | None:
        return self._hget(key, member)

    def _zrem(self, key: str, member: str) -> int:
        return self._hdel(key, member)

    def _zcard(self, key: str) -> int:
        return self._hlen(key)

    def _zrange(self, key: str, _: str, __: str) -> list[str]:
        table: dict[str, str] = self.tables.get(key, {})
        return sorted(table, key=lambda member: (int(table[member]), member))


def _text(value: Any) -> str | bytes:
    return str(int(value)) if isinstance(value, float | int) else value


def _from_lua(value: Any) -> Any:
    if cast("Any", lupa).lua_type(value) == "table":
        return [_from_lua(value[index]) for index in range(1, len(value) + 1)]
    return int(value) if isinstance(value, float) else value
