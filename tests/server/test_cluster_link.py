"""The link of a node to a real Redis: every kind of address, and a Redis that refuses, hangs, dies or moves."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.server.app import SMCPApp, create_app
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.link import CommandFailed, LinkLost, UnusableRedis
from a2c_smcp.server.cluster.redis import RedisLink
from scripts import programs
from tests.support.certificates import Authority
from tests.support.peer import Peer, tool_call
from tests.support.process import free_port
from tests.support.programs import Redis, cluster_prefix, find, redis_command, redis_server, shared_redis
from tests.support.running import serving_asgi
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

PASSWORD = "p@ss/word?#%"
QUOTED = "p%40ss%2Fword%3F%23%25"


class Listener:
    """Remembers what a link reports, in order."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def on_connected(self, run_id: str, uptime: float) -> None:
        self.add(("connected", run_id))

    def on_lost(self) -> None:
        self.add("lost")

    def on_message(self, data: bytes) -> None:
        self.add(data)

    def add(self, what: Any) -> None:
        self.heard.append(what)
        task = asyncio.ensure_future(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def wait_for(self, is_so: Callable[[list[Any]], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: is_so(self.heard))

    async def connections(self, count: int) -> str:
        """Wait until the link has connected so often; the id of the last Redis."""

        def found() -> list[str]:
            return [item[1] for item in self.heard if isinstance(item, tuple)]

        await self.wait_for(lambda _: len(found()) >= count)
        return found()[-1]


@asynccontextmanager
async def linked(url: str, prefix: str = "a2c", **address: Any) -> AsyncGenerator[tuple[RedisLink, Listener]]:
    link, listener = RedisLink(replace(RedisAddress.parse(url), **address), prefix), Listener()
    try:
        async with asyncio.timeout(PATIENCE):
            await link.start(listener)
        yield link, listener
    finally:
        await link.stop()


async def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again, about what another process does."""
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(is_so):  # each question starts a process, which is pause enough
            pass


async def works(link: RedisLink, listener: Listener) -> None:
    """Assert that scripts run and that messages arrive."""
    link.subscribe("n0000000001")
    assert (await link.run("look", "n0000000001", "office", "name")) == [""] * 5
    link.publish("n0000000001", b"hello")
    await listener.wait_for(lambda heard: b"hello" in heard)


# ------------------------------------------------------------------------------------------------------------- the URL


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://h", RedisAddress((("h", 6379),))),
        ("REDIS://h:1/2", RedisAddress((("h", 1),), database=2)),
        ("redis://h?db=3", RedisAddress((("h", 6379),), database=3)),
        (
            "redis://h1,h2:2,[::1]:3",
            RedisAddress(
                (
                    ("h1", 6379),
                    ("h2", 2),
                    ("::1", 3),
                )
            ),
        ),
        (f"redis://:{QUOTED}@h", RedisAddress((("h", 6379),), password=PASSWORD)),
        (
            f"redis://a%20b:{QUOTED}@h1,h2",
            RedisAddress(
                (
                    ("h1", 6379),
                    ("h2", 6379),
                ),
                None,
                "a b",
                PASSWORD,
            ),
        ),
        ("redis://:a@b@h", RedisAddress((("h", 6379),), password="a@b")),
        ("rediss://h?ca=/c.pem", RedisAddress((("h", 6379),), has_tls=True, ca_file=Path("/c.pem"))),
        (
            "redis+sentinel://h1,h2:2/m",
            RedisAddress(
                (
                    ("h1", 26379),
                    ("h2", 2),
                ),
                sentinel="m",
            ),
        ),
        ("rediss+sentinel://h/m/4", RedisAddress((("h", 26379),), sentinel="m", database=4, has_tls=True)),
        ("unix:///run/r%20s.sock?db=1", RedisAddress(path="/run/r s.sock", database=1)),
        ("unix://u:hunter2@/run/r.sock", RedisAddress(path="/run/r.sock", username="u", password="hunter2")),
    ],
)
def test_each_form_of_url_is_read(url: str, address: RedisAddress) -> None:
    read = RedisAddress.parse(url)
    assert read == address
    assert (address.password or PASSWORD) not in f"{read!r} {read}"


def test_an_address_is_shown_as_its_hosts() -> None:
    assert str(RedisAddress.parse("redis://u:secret@h,[::1]:2/3")) == "h:6379, [::1]:2"
    assert str(RedisAddress.parse("unix:///run/r.sock")) == "/run/r.sock"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://:hunter2@h", "starts with redis://"),
        ("unix+sentinel:///hunter2", "starts with redis://"),
        ("redis:hunter2", "a host is missing"),
        ("redis://:hunter2@", "a host is missing"),
        ("redis://:hunter2@h1,,h2", "a host is missing"),
        ("redis://user:hunter2", "port is a number"),
        ("redis://:hunter2@h:70000", "port is a number"),
        ("redis://:hunter2@[::1", "invalid"),
        ("redis://:hunter2\N{ACCOUNT OF}@h", "invalid"),
        ("redis://:pass/hunter2@h", "%2F"),
        ("redis://:pass?hunter2@h", "%3F"),
        ("redis://:pass#hunter2@h", "%23"),
        ("redis://h/hunter2", "database .* is a number"),
        ("redis://h/1/hunter2", "only the number of the database"),
        ("redis://h?password=hunter2", "only ca and db"),
        ("redis://h?hunter2=1", "only ca and db"),
        ("redis+sentinel://:hunter2@h", "the name of the master"),
        ("redis+sentinel://h/m/hunter2", "database .* is a number"),
        ("unix://hunter2", "three slashes"),
        ("unix://hunter2/x.sock", "three slashes"),
    ],
)
def test_a_wrong_url_is_rejected_and_never_repeated(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        RedisAddress.parse(url)
    assert "hunter2" not in str(caught.value)


# --------------------------------------------------------------------------------------------- credentials, other ways


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Redis]:
    """A Redis with passwords, TLS and a Unix socket."""
    folder = tmp_path_factory.mktemp("redis")
    pair = Authority(folder).issue("127.0.0.1")
    certificates = ["--tls-cert-file", str(pair.certificate), "--tls-key-file", str(pair.key)]
    place = ["--tls-port", str(free_port()), "--tls-auth-clients", "no", "--unixsocket", str(folder / "s")]
    users = folder / "users.acl"
    users.write_text(
        f"user default on >{PASSWORD} ~* &* +@all\n"
        "user office on >hunter2 ~{a2c}:* &{a2c}:* +@all -@dangerous +info +role\n"
        "user keys on >hunter2 ~{a2c}:* resetchannels +@all -@dangerous +info +role\n"
        "user blind on >hunter2 ~{a2c}:* &{a2c}:* +@all -@dangerous\n"
    )
    with redis_server(folder, *certificates, *place, "--aclfile", str(users)) as redis:
        redis.folder, redis.tls_port = folder, int(place[1])  # type: ignore[attr-defined]
        yield redis


def urls(redis: Any) -> dict[str, str]:
    return {
        "password": f"redis://:{QUOTED}@127.0.0.1:{redis.port}",
        "user": f"redis://office:hunter2@127.0.0.1:{redis.port}",
        "database": f"redis://:{QUOTED}@127.0.0.1:{redis.port}/7",
        "socket": f"unix://:{QUOTED}@{redis.folder}/s?db=3",
        "TLS": f"rediss://:{QUOTED}@127.0.0.1:{redis.tls_port}?ca={redis.folder}/ca.pem",
        "a host that is down": f"redis://:{QUOTED}@127.0.0.1:1,127.0.0.1:{redis.port}",
    }


@pytest.mark.parametrize("form", ["password", "user", "database", "socket", "TLS", "a host that is down"])
async def test_redis_is_used_with_credentials_a_database_a_socket_or_tls(locked: Redis, form: str) -> None:
    async with linked(urls(locked)[form]) as (link, listener):
        await works(link, listener)


async def test_databases_are_kept_apart(locked: Redis) -> None:
    url = urls(locked)["password"]
    async with linked(f"{url}/1") as (one, _), linked(f"{url}/2") as (other, _):
        await one.run("enlist", "n1", 10_000, "run", 60_000, 0)
        assert (await one.read("ZCARD", "nodes"), await other.read("ZCARD", "nodes")) == (1, 0)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://{}", "requires a password"),
        ("redis://:hunter3@{}", "rejects the user name or the password"),
        ("redis://nobody:hunter3@{}", "rejects the user name or the password"),
        ("redis://:" + QUOTED + "@{}/99", "no database 99"),
        ("redis://blind:hunter2@{}", "lacks a permission: .* 'info' command"),
        ("rediss://{}?ca=/no/such/file", "/no/such/file cannot be read"),
    ],
)
async def test_a_redis_that_cannot_be_used_ends_the_start(locked: Redis, url: str, says: str) -> None:
    with pytest.raises(UnusableRedis, match=says) as caught:
        async with linked(url.format(f"127.0.0.1:{locked.port}")):
            pass
    assert "hunter" not in str(caught.value)


async def test_a_subscription_that_is_rejected_mixes_up_no_answers(
    locked: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async with linked(f"redis://keys:hunter2@127.0.0.1:{locked.port}") as (link, listener):
        link.subscribe("n0000000001")
        with pytest.raises(LinkLost):
            await link.read("ZCARD", "nodes")
        assert "no permissions to access one of the channels" in caplog.text
        await listener.connections(2)


async def test_a_redis_with_an_unknown_certificate_is_not_used(locked: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with linked(f"rediss://:{QUOTED}@127.0.0.1:{locked.tls_port}") as (_, listener):
        assert "certificate verify failed" in caplog.text
        assert listener.heard == []


# -------------------------------------------------------------------------------------------------------------- content


async def test_messages_of_every_byte_and_of_9_mb_arrive_in_order() -> None:
    sent = [bytes(range(256)), b"", b"\r\n$5\r\n", b"x" * 9_000_000, *(b"%d" % number for number in range(1000))]
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        link.subscribe("n1")
        for message in sent:
            link.publish("n1", message)
        await listener.wait_for(lambda heard: len(heard) > len(sent))
        assert listener.heard[1:] == sent


async def test_answers_and_messages_come_in_the_order_in_which_redis_made_them() -> None:
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        link.subscribe("n1")
        expected: list[Any] = []
        for number in range(50):
            link.publish("n1", b"%d" % number)
            link.read("EXISTS", "nodes").then(lambda reply, number=number: listener.add(("answer", number)))
            expected += [b"%d" % number, ("answer", number)]
        await listener.wait_for(lambda heard: len(heard) > len(expected))
        assert listener.heard[1:] == expected


async def test_a_node_receives_only_the_messages_of_its_last_name() -> None:
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        link.subscribe("n1")
        link.subscribe("n2")
        for message, node in [(b"old", "n1"), (b"new", "n2")]:
            link.publish(node, message)
        await listener.wait_for(lambda heard: len(heard) > 1)
        assert listener.heard[1:] == [b"new"]


async def test_texts_outside_ascii_come_back_as_they_were() -> None:
    office, name = "büro 🏢\n", "pc\u0000 \u2028"
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        await link.run("enlist", "n1", 10_000, await listener.connections(1), 60_000, 0)
        await link.run("commit", "n1", "n1.sid", "computer", "", "", office, name, "", "", "")
        assert await link.run("look", "n1", office, name) == ["", "", "", "1 n1.sid computer", ""]
        assert await link.read("HGETALL", f"office:{office}") == [name, "1 n1.sid computer"]


async def test_a_text_that_cannot_be_encoded_fails_alone() -> None:
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        with pytest.raises(UnicodeEncodeError):
            link.read("EXISTS", "\ud800")
        await works(link, listener)


async def test_scripts_that_an_operator_flushed_run_again() -> None:
    async with linked(shared_redis().url, cluster_prefix()) as (link, listener):
        await works(link, listener)
        await asyncio.to_thread(redis_command, shared_redis().port, "SCRIPT", "FLUSH")
        await works(link, listener)
        assert "lost" not in listener.heard


# -------------------------------------------------------------------------------------------- a Redis that is not there


async def test_a_redis_that_starts_later_or_dies_is_connected_when_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as redis:
        redis.kill()
        async with linked(redis.url) as (link, listener):
            assert f"Redis at 127.0.0.1:{redis.port} cannot be reached" in caplog.text
            with pytest.raises(LinkLost):
                await link.run("look", "n1", "office", "name")
            await asyncio.to_thread(redis.start)
            first = await listener.connections(1)
            await works(link, listener)
            redis.process.send_signal(signal.SIGSTOP)  # or it may answer before it dies
            waiting = [link.run("look", "n1", "office", "name") for _ in range(3)]
            redis.kill()
            for reply in waiting:
                with pytest.raises(LinkLost):
                    await reply
            await listener.wait_for(lambda heard: heard[-1] == "lost")
            link.publish("n1", b"lost")  # without a connection, and without an error
            await asyncio.to_thread(redis.start)
            assert await listener.connections(2) != first
            await works(link, listener)
            assert listener.heard.count(b"lost") == 0


async def test_a_redis_that_hangs_does_not_hold_up_the_start_or_the_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as redis:
        redis.process.send_signal(signal.SIGSTOP)
        async with linked(redis.url, connect_seconds=0.3) as (link, listener):
            assert "cannot be reached: it does not answer" in caplog.text
            redis.process.send_signal(signal.SIGCONT)
            await listener.connections(1)
            await works(link, listener)
            redis.process.send_signal(signal.SIGSTOP)
            waiting = link.run("look", "n1", "office", "name")
            link.reset()
            with pytest.raises(LinkLost):
                await waiting
            redis.process.send_signal(signal.SIGCONT)
            await listener.connections(2)
            await works(link, listener)


async def test_a_redis_that_never_reads_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with redis_server(tmp_path) as redis:
        async with linked(redis.url) as (link, listener):
            redis.process.send_signal(signal.SIGSTOP)
            for _ in range(9):
                link.publish("n1", b"x" * 9_000_000)
            await listener.wait_for(lambda heard: "lost" in heard)
            assert "does not read" in caplog.text
            redis.process.send_signal(signal.SIGCONT)
            await listener.connections(2)


async def test_a_program_that_is_not_redis_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, linked(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}") as (_, listener):
        assert listener.heard == []
        assert "cannot be reached" in caplog.text


async def test_a_full_redis_fails_the_script_and_is_tried_again(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--maxmemory", "1", "--maxmemory-policy", "noeviction") as redis:
        async with linked(redis.url) as (link, listener):
            with pytest.raises(CommandFailed, match="OOM"):
                await link.run("enlist", "n1", 10_000, "run", 60_000, 0)
            await asyncio.to_thread(redis_command, redis.port, "CONFIG", "SET", "maxmemory", "0")
            await listener.connections(2)
            await link.run("enlist", "n1", 10_000, "run", 60_000, 0)


# ------------------------------------------------------------------------------------------------ replicas and Sentinel


async def test_a_replica_is_not_used_and_a_failover_is_followed_with_sentinel(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders = [tmp_path / name for name in ("one", "other", "sentinel")]
    for folder in folders:
        folder.mkdir()
    with redis_server(folders[0]) as first:
        socket = f"{folders[1]}/s"
        follow = [
            "--replicaof",
            "127.0.0.1",
            str(first.port),
            "--repl-diskless-sync-delay",
            "0",
            "--unixsocket",
            socket,
        ]
        with redis_server(folders[1], *follow) as other:
            await until(lambda: "state=online" in redis_command(first.port, "INFO", "replication"))
            for url in (other.url, f"unix://{socket}"):
                async with linked(url) as (_, listener):
                    assert listener.heard == []
                assert "it is a replica" in caplog.text
                caplog.clear()
            async with linked(f"redis://127.0.0.1:{other.port},127.0.0.1:{first.port}") as (link, listener):
                await works(link, listener)

            config = folders[2] / "sentinel.conf"
            config.write_text(
                f"sentinel monitor shop 127.0.0.1 {first.port} 1\nsentinel down-after-milliseconds shop 300\n"
                "sentinel failover-timeout shop 3000\n"
            )
            with sentinel(folders[2], config) as port:
                await until(lambda: "slaves=1" in command_as(port, "INFO", "sentinel"))
                async with linked(f"redis+sentinel://:hunter2@127.0.0.1:1,127.0.0.1:{port}/unknown"):
                    assert "no Sentinel knows a master 'unknown'" in caplog.text
                url = f"redis+sentinel://:hunter2@127.0.0.1:1,127.0.0.1:{port}/shop"
                async with linked(url) as (link, listener):
                    before = await listener.connections(1)
                    first.kill()
                    assert await listener.connections(2) != before
                    await works(link, listener)
                    assert redis_command(other.port, "ROLE").startswith("master")


@contextmanager
def sentinel(folder: Path, config: Path) -> Generator[int]:
    """A Sentinel with a password of its own; its port."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--requirepass", "hunter2"]
    process = subprocess.Popen(
        [find("redis-server"), str(config), "--sentinel", *options],
        env=programs.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def command_as(port: int, *words: str) -> str:
    return redis_command(port, "-a", "hunter2", "--no-auth-warning", *words)


# -------------------------------------------------------------------------------------------------------- Redis Cluster


@contextmanager
def redis_cluster(folder: Path) -> Generator[list[Redis]]:
    """Three nodes: the first has all slots, the second is its replica, the third has none."""
    # The node timeout: a node that is silent for longer counts as failed, and no test here waits for that. On a busy
    # machine a node may be silent for a second.
    with ExitStack() as stack:
        nodes: list[Redis] = []
        for number in range(3):
            (folder / str(number)).mkdir()
            options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0"]
            nodes.append(stack.enter_context(redis_server(folder / str(number), *options)))
        redis_command(nodes[0].port, "CLUSTER", "ADDSLOTS", *map(str, range(16_384)))
        yield nodes


def have_met(nodes: list[Redis]) -> bool:
    """Whether the nodes form a cluster; otherwise each that does not know the others is asked to meet them."""
    infos = [cluster_info(node) for node in nodes]
    if all(info["cluster_known_nodes"] == "3" and info["cluster_state"] == "ok" for info in infos):
        return True
    # A node forgets a meeting that takes longer than the node timeout, as it may on a busy machine. The other one may
    # remember it, and does not begin again: so the node that forgot has to. A meeting under way counts as a node.
    for node, info in zip(nodes, infos, strict=True):
        if int(info["cluster_known_nodes"]) < 3:
            for other in nodes:
                if other is not node:
                    redis_command(node.port, "CLUSTER", "MEET", "127.0.0.1", str(other.port))
    return False


def cluster_info(redis: Redis) -> dict[str, str]:
    said = redis_command(redis.port, "CLUSTER", "INFO")
    assert redis.process.poll() is None, "the node ended"
    return dict(line.split(":", 1) for line in said.split())


def inboxes(redis: Redis) -> int:
    """How many Servers receive their messages from this node. Redis 6.2 has only channels of the whole cluster."""
    sharded = redis_command(redis.port, "PUBSUB", "SHARDCHANNELS")
    has_shards = not sharded.startswith("ERR")
    return len((sharded if has_shards else redis_command(redis.port, "PUBSUB", "CHANNELS")).split())


def node_id(redis: Redis) -> str:
    return redis_command(redis.port, "CLUSTER", "MYID")


async def test_servers_on_a_redis_cluster_follow_a_failover_and_a_slot_that_moves(tmp_path: Path) -> None:
    with redis_cluster(tmp_path) as nodes:
        first, replica, third = nodes
        await until(lambda: have_met(nodes))
        await until(lambda: all(node_id(first) in redis_command(node.port, "CLUSTER", "NODES") for node in nodes))
        await asyncio.to_thread(redis_command, replica.port, "CLUSTER", "REPLICATE", node_id(first))
        await until(lambda: "master_link_status:up" in redis_command(replica.port, "INFO", "replication"))
        url = "redis://" + ",".join(f"127.0.0.1:{node.port}" for node in (third, replica, first))
        slot = redis_command(first.port, "CLUSTER", "KEYSLOT", "{a2c}")
        with ExitStack() as stack:
            apps = [create_app(redis=url, lease=2) for _ in range(3)]
            places = [stack.enter_context(serving_asgi(app, app))[0] for app in apps]
            await exchange(apps, places)
            assert inboxes(first) == 3

            assert await asyncio.to_thread(redis_command, replica.port, "CLUSTER", "FAILOVER", "TAKEOVER") == "OK"
            await until(lambda: redis_command(replica.port, "ROLE").startswith("master"))
            await until(lambda: inboxes(replica) == 3)
            await exchange(apps, places)

            await asyncio.to_thread(move_slot, slot, replica, third, nodes)
            await until(lambda: inboxes(third) == 3)
            await exchange(apps, places)


def move_slot(slot: str, source: Redis, target: Redis, nodes: list[Redis]) -> None:
    """Move a slot and its keys, as an operator does."""
    old, new = node_id(source), node_id(target)
    redis_command(target.port, "CLUSTER", "SETSLOT", slot, "IMPORTING", old)
    redis_command(source.port, "CLUSTER", "SETSLOT", slot, "MIGRATING", new)
    keys = redis_command(source.port, "CLUSTER", "GETKEYSINSLOT", slot, "1000").split("\n")
    redis_command(source.port, "MIGRATE", "127.0.0.1", str(target.port), "", "0", "5000", "KEYS", *keys)
    for node in (target, source):
        redis_command(node.port, "CLUSTER", "SETSLOT", slot, "NODE", new)


async def exchange(apps: list[SMCPApp], places: list[str]) -> None:
    """Assert that calls get from a client of one Server to those of the others."""
    agent, *computers = members = [Peer() for _ in places]
    try:
        await until(lambda: all(app.cluster.is_ready for app in apps if app.cluster))
        for peer, place in zip(members, places, strict=True):
            assert await peer.connect(place)
        assert await joined(agent, "agent", "agent")
        for number, computer in enumerate(computers):
            assert await joined(computer, "computer", f"pc{number}")
            answer = await agent.ask("client:tool_call", tool_call(f"pc{number}"))
            assert answer["echo"] == "client:tool_call"
    finally:
        for peer in members:
            await peer.disconnect()


async def joined(peer: Peer, role: str, name: str) -> bool:
    return (await peer.join(role, name, "office"))[0]
