"""Redis, as the Servers of a cluster use it, and the cluster that is in it."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from typing import Any

from a2c_smcp.cli.doctor.findings import Report, count
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.connection import RedisConnection, read_info
from a2c_smcp.server.cluster.link import CommandFailed, LinkLost, UnusableRedis
from a2c_smcp.server.cluster.redis import script

PATIENCE = 3.0
"""Seconds for each step."""
SLOW = 0.020
"""A round trip that takes longer, in seconds, is a warning: a join takes two, and a relayed call four half ones."""
_PINGS = 5
_POLICY_ADVICE = "`redis-cli CONFIG SET maxmemory-policy noeviction`, and the same in redis.conf"


async def check_redis(options: Options, report: Report) -> None:
    """Check one step after another, until one fails."""
    try:
        address = RedisAddress.parse(options.redis or "")
    except ValueError as error:
        report.fail(f"--redis: {error}")
        return
    report.group = f"Redis {address}"
    report.now("connecting")
    messages: asyncio.Queue[Any] = asyncio.Queue()
    prefix = "{" + options.redis_prefix + "}"
    try:
        connection = await address.connect(f"{prefix}:nodes", messages.put_nowait)
    except UnusableRedis as error:
        report.fail(str(error), _advice(str(error)))
        return
    except (OSError, TimeoutError, CommandFailed, LinkLost) as error:
        problem = _words(error)
        report.fail(f"Redis cannot be used: {problem}", _advice(problem))
        return
    version = ".".join(map(str, connection.version))
    kind = " of a Redis Cluster" if connection.is_in_cluster else ""
    report.ok(f"Redis {version} accepts the connection, and is a primary{kind}")
    try:
        await _measure(connection, report)
        await _check_memory(connection, report)
        if await _check_messages(connection, prefix, messages, report):
            await _show_cluster(connection, prefix, report)
    except (TimeoutError, CommandFailed, LinkLost) as error:
        report.fail(f"Redis stopped answering: {_words(error)}", "see the log of Redis")
    finally:
        connection.close()


def _words(error: Exception) -> str:
    """An error without its number."""
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return error.strerror
    return str(error) or "it does not answer"


def _advice(problem: str) -> str:
    if "database" in problem:
        return "use another number, or none: a Redis Cluster has only database 0"
    if "password" in problem or "rejects" in problem:
        return "put the user and the password into the URL: redis://user:password@host, best in A2C_REDIS"
    if "permission" in problem:
        return "allow it: `ACL SETUSER name ~{a2c}:* &{a2c}:* +@all -@dangerous +info +role`"
    if "too old" in problem or "newer" in problem:
        return "upgrade Redis, or use Valkey"
    if "replica" in problem:
        return "use the URL of the primary, or that of its Sentinels: redis+sentinel://host/name"
    if "certificate" in problem:
        return "trust the authority of its certificate: rediss://host?ca=ca.pem"
    return "check the host and the port, that Redis runs, and that no firewall is in the way"


async def _ask(connection: RedisConnection, *command: str) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await connection.send(*command)


async def _measure(connection: RedisConnection, report: Report) -> None:
    now = asyncio.get_running_loop().time
    times: list[float] = []
    for _ in range(_PINGS):
        start = now()
        await _ask(connection, "PING")
        times.append(now() - start)
    middle = sorted(times)[_PINGS // 2]
    text = f"a round trip takes {middle * 1000:.2f} ms"
    if middle > SLOW:
        report.warn(text, "run Redis close to the Servers: every join and every call between Servers waits for it")
    else:
        report.ok(text)


async def _check_memory(connection: RedisConnection, report: Report) -> None:
    facts = read_info(str(await _ask(connection, "INFO", "memory")))
    policy, limit = facts.get("maxmemory_policy", "noeviction"), int(facts.get("maxmemory", "0"))
    # `volatile-…` evicts only keys that expire: logins of MCP hosts do, members do not.
    loses_members = not policy.startswith("volatile-")
    what = "members" if loses_members else "logins of MCP hosts"
    if policy == "noeviction":
        report.ok("it evicts no keys when its memory is full (maxmemory-policy noeviction)")
    elif limit and loses_members:
        report.fail(f"it may evict {what} when its memory is full: maxmemory-policy is {policy}", _POLICY_ADVICE)
    elif limit:
        report.warn(f"it may evict {what} when its memory is full: maxmemory-policy is {policy}", _POLICY_ADVICE)
    else:
        report.warn(f"maxmemory-policy is {policy}: with a maxmemory, Redis may evict {what}", _POLICY_ADVICE)


async def _check_messages(
    connection: RedisConnection, prefix: str, messages: asyncio.Queue[Any], report: Report
) -> bool:
    """Run a script of the Server, and have another one send a message to a channel of our own."""
    report.now("running a script")
    channel, token = f"{prefix}:inbox:doctor-{secrets.token_hex(8)}", secrets.token_hex(8)
    publish = connection.publish_command
    try:
        await _ask(connection, "EVAL", script("look"), "1", f"{prefix}:nodes", prefix, "", "0", publish, "", "")
        connection.tell(connection.subscribe_command, channel)
        send = "return redis.call(ARGV[1], ARGV[2], ARGV[3])"
        await _ask(connection, "EVAL", send, "1", f"{prefix}:nodes", publish, channel, token)
        async with asyncio.timeout(PATIENCE):
            while (await messages.get())[-1] != token.encode():  # the first confirms the subscription
                pass
    except (CommandFailed, LinkLost, TimeoutError) as error:
        problem = str(error) or "a message did not arrive"
        report.fail(
            f"scripts or messages do not work: {problem}",
            f"allow scripts and channels to the user: `ACL SETUSER name ~{prefix}:* &{prefix}:* +@scripting +@pubsub`",
        )
        return False
    report.ok("scripts run, and messages arrive")
    return True


async def _show_cluster(connection: RedisConnection, prefix: str, report: Report) -> None:
    nodes = await _ask(connection, "ZRANGE", f"{prefix}:nodes", "0", "-1", "WITHSCORES")
    seconds, microseconds = map(int, await _ask(connection, "TIME"))
    offices, computers = await _ask(connection, "MGET", f"{prefix}:offices", f"{prefix}:computers")
    agents = await _ask(connection, "HLEN", f"{prefix}:agents")
    name = prefix.strip("{}")
    if not nodes:
        report.note(f"no Server is in the cluster {name!r}", "start one: `a2c server --redis URL`")
        return
    settling = await _ask(connection, "EXISTS", f"{prefix}:settling")
    sizes = (count(int(offices or 0), "office"), count(agents, "Agent"), count(int(computers or 0), "Computer"))
    report.ok(f"the cluster {name!r} has {count(len(nodes), 'node')}, {', '.join(sizes)}")
    now = seconds + microseconds / 1_000_000
    for node, end in nodes:
        rest = end / 1000 - now
        if rest >= 0:
            report.ok(f"node {node}: its lease ends in {rest:.1f} s unless it is extended")
        else:
            report.warn(
                f"node {node}: its lease ended {-rest:.0f} s ago",
                "its Server died or cannot reach Redis; the other nodes remove it within seconds",
            )
    if settling:
        report.note("Redis started or changed a moment ago: members can join when a Server has known it for a lease")
