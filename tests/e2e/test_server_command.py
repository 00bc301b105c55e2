"""`a2c server` and `a2c keys` as processes: how they start, refuse, log and stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner, Result

from a2c_smcp.cli.main import app
from a2c_smcp.server import Grant, KeyFile
from a2c_smcp.server.key_file import write_keys
from tests.support.certificates import Authority, self_signed
from tests.support.peer import Peer, crowd, request, tool_call
from tests.support.process import A2C, a2c, server_process
from tests.support.systems import posix_only
from tests.support.terminal import IN_THE_TERMINAL
from tests.support.waiting import PATIENCE


@pytest.mark.anyio
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_the_running_call_end_and_exits_0(how: int) -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            release = asyncio.Event()

            async def answer_late(event: str, data: object) -> str:
                await release.wait()
                return "done"

            computer.answer = answer_late
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                call = tasks.create_task(agent.ask("client:tool_call", tool_call()))
                await computer.be_asked("client:tool_call")
                stopped = tasks.create_task(asyncio.to_thread(server.stop, how))
                await asyncio.to_thread(server.wait_for, "1 running calls")
                with pytest.raises(httpx.ConnectError):
                    await asyncio.to_thread(httpx.get, server.url + "/healthz")
                release.set()
                assert await call == "done"
                assert await stopped == 0
                await computer.is_gone.wait()
            assert ("notify:leave_office", {"office_id": "office", "agent": "agent"}) in computer.heard
    assert not [line for line in server.log if "Traceback" in line or "ERROR" in line]


@pytest.mark.anyio
async def test_a_call_that_does_not_end_is_ended_after_the_grace() -> None:
    with server_process("--grace", "0.2") as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            forever = asyncio.Event()
            computer.answer = lambda event, data: forever.wait()
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
                call = tasks.create_task(agent.ask("client:tool_call", tool_call()))
                await computer.be_asked("client:tool_call")
                stopped = tasks.create_task(asyncio.to_thread(server.stop, signal.SIGTERM))
                assert (await call)["error"]["code"] == 500
                assert await stopped == 0
            forever.set()


@pytest.mark.anyio
async def test_a_second_ctrl_c_does_not_wait() -> None:
    with server_process("--grace", "3600") as server:
        async with crowd(server) as people:
            agent, computer = await people.office()
            forever = asyncio.Event()
            computer.answer = lambda event, data: forever.wait()
            await agent.tell("client:tool_call", tool_call())
            await computer.be_asked("client:tool_call")
            server.process.send_signal(signal.SIGINT)
            await asyncio.to_thread(server.wait_for, "1 running calls")
            assert await asyncio.to_thread(server.stop, signal.SIGINT) == 0
            forever.set()


def test_an_open_server_refuses_web_pages_from_elsewhere() -> None:
    with server_process() as server:
        url = server.url + "/socket.io/?EIO=4&transport=polling"
        evil = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert httpx.get(url, headers=evil).status_code == 400
        assert httpx.get(url, headers={"Origin": "http://localhost:3000"}).status_code == 200
        assert httpx.get(url).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_it_refuses_to_leave_the_machine_without_authentication(host: str) -> None:
    outcome = a2c("server", "--host", host, "--port", "0")
    assert outcome.returncode == 2
    assert "without authentication" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


@pytest.mark.parametrize("flags", [["--insecure"], ["--api-key", "k"]])
def test_it_leaves_the_machine_with_a_key_or_when_told(flags: list[str]) -> None:
    with server_process("--host", "0.0.0.0", *flags) as server:
        port = server.url.rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").json() == {"status": "ok"}


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text('socketio_path = "/file"\nlog_format = "json"\nlog_level = "debug"\napi_key = "from-file"\n')
    env = {"A2C_SOCKETIO_PATH": "/env", "A2C_LOG_FORMAT": "human", "A2C_CONFIG": str(config)}
    with server_process("--socketio-path", "/flag", env=env) as server:
        server.wait_for("path /flag")
        server.wait_for("valid credential")
        assert not server.log[0].startswith("{")


@pytest.mark.parametrize(
    ("flags", "file", "says"),
    [
        (["--port", "70000"], None, "a2c: --port: must be at most 65535"),
        (["--log-level", "loud"], None, "a2c: --log-level: must be 'debug', 'info', 'warning' or 'error'"),
        (["--config", "missing.toml"], None, "missing.toml"),
        (["--config", "server.toml"], "host = 'a'\nport = [", "a2c: server.toml: line 2: invalid TOML: "),
        (["--config", "server.toml"], "\nprot = 5", "a2c: server.toml: line 2: prot: unknown key; did you mean port?"),
        (["--keys-file", "missing.toml"], None, "missing.toml"),
        (["--jwt-key-file", "server.toml"], "too short", "32 bytes"),
        (["--ssl-certfile", "cert.pem"], None, "go together"),
        (["--workers", "2"], None, "a2c: --workers 2 requires --redis: workers share their offices through it"),
        (["--redis", "http://host"], None, "a2c: the URL of Redis starts with redis://, "),
        (["--redis", "redis://user:pass/word@host"], None, "a2c: the URL of Redis is invalid"),
        (["--nonsense"], None, "nonsense"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(tmp_path: Path, flags: list[str], file: str | None, says: str) -> None:
    if file is not None:
        (tmp_path / "server.toml").write_text(file)
    outcome = a2c("server", *flags, cwd=tmp_path)
    assert outcome.returncode == 2
    assert says in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_every_wrong_setting_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text('# mine\nport = 70000\nlog-level = "info"\n[server]\nhost = "a"\n')
    flags = ["server", "--config", "server.toml", "--log-format", "xml"]
    outcome = a2c(*flags, cwd=tmp_path, env={"A2C_GRACE": "soon"})
    assert outcome.returncode == 2
    in_file = [
        "server.toml: line 2: port: must be at most 65535",
        "server.toml: line 3: log-level: unknown key; did you mean log_level?",
        "server.toml: line 4: server: must not be a table: settings are at the top of the file",
    ]
    assert sorted(outcome.stderr.splitlines()) == [
        "--log-format: must be 'human' or 'json'",
        "A2C_GRACE: must be a number",
        "a2c: 5 mistakes in the settings",
        *in_file,
    ]
    checked = a2c("config", "check", "server.toml", cwd=tmp_path)
    assert (checked.returncode, checked.stderr.splitlines()) == (2, in_file)


def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = a2c("server", "--port", port)
    assert outcome.returncode == 1
    assert outcome.stderr.strip() == f"a2c: cannot listen on 127.0.0.1:{port}: Address already in use"


@pytest.mark.anyio
async def test_json_logs_carry_the_req_id_and_no_secret() -> None:
    with server_process("--log-format", "json", "--log-level", "debug", env={"A2C_API_KEY": "hush-hush"}) as server:
        async with crowd(server) as people:
            key = {"auth": {"token": "hush-hush"}}
            agent = await people.member("agent", "agent", "o", **key)
            await people.member("computer", "pc", "o", **key)
            await agent.ask("client:tool_call", tool_call(req_id="req-77"))
            await agent.ask("client:get_tools", request("nobody", req_id="req-78"))
            await people.refused(auth={"token": "guessed-key"})
        server.wait_for("req-77")
        server.wait_for("req-78")
        server.wait_for("rejected: not authenticated")
        entries = [json.loads(line) for line in server.log]
        assert {"req-77", "req-78"} <= {entry.get("req_id") for entry in entries}
        text = "".join(server.log)
        assert "hush-hush" not in text
        assert "guessed-key" not in text


@pytest.mark.anyio
async def test_keys_are_made_listed_used_and_revoked(tmp_path: Path) -> None:
    file = ["--file", "keys.toml"]
    made = a2c("keys", "add", "alice", "--office", "acme-*", "--role", "agent", *file, cwd=tmp_path)
    assert made.returncode == 0
    key = made.stdout.strip()
    assert key.startswith("a2c_")
    assert key not in (tmp_path / "keys.toml").read_text()
    assert a2c("keys", "add", "alice", "--office", "x", *file, cwd=tmp_path).returncode == 1
    second = json.loads(a2c("keys", "add", "bob", "--office", "*", "--json", *file, cwd=tmp_path).stdout)
    listed = json.loads(a2c("keys", "list", "--json", *file, cwd=tmp_path).stdout)
    assert [entry["id"] for entry in listed] == ["alice", "bob"]
    assert "hash" not in listed[0]
    with server_process("--keys-file", "keys.toml", cwd=tmp_path) as server:
        async with crowd(server) as people:
            alice = await people.newcomer(headers={"x-api-key": key})
            assert (await alice.join("agent", "a", "other"))[0] is False
            assert (await alice.join("agent", "a", "acme-1"))[0] is True
            await people.newcomer(headers={"x-api-key": second["key"]})
            assert a2c("keys", "remove", "bob", *file, cwd=tmp_path).returncode == 0
            assert (await people.refused(headers={"x-api-key": second["key"]}))["data"]["code"] == 401
        assert server.stop(signal.SIGTERM) == 0
    [alice_now] = json.loads(a2c("keys", "list", "--json", *file, cwd=tmp_path).stdout)
    assert alice_now["last_used"] >= alice_now["created"]
    assert a2c("keys", "remove", "bob", *file, cwd=tmp_path).returncode == 1
    assert a2c("keys", "list", "--file", "none.toml", cwd=tmp_path).returncode == 1


def keys_command(folder: Path, *arguments: str) -> Result:
    """`a2c keys` without a process."""
    return CliRunner().invoke(app, ["keys", *arguments, "--file", str(folder / "keys.toml")])


def test_a_rotated_key_works_beside_the_new_one_for_the_grace_period(tmp_path: Path) -> None:
    first = keys_command(tmp_path, "add", "alice", "--office", "acme", "--expires", "30d").stdout.strip()
    assert keys_command(tmp_path, "add", "bob", "--office", "acme").exit_code == 0
    second = keys_command(tmp_path, "rotate", "alice", "--grace", "2h").stdout.strip()
    keys = KeyFile(tmp_path / "keys.toml")
    assert keys.verify(first) == keys.verify(second) == Grant(offices=("acme",), subject="alice")
    listed = json.loads(keys_command(tmp_path, "list", "--json").stdout)
    assert [(key["id"], key.get("replaced")) for key in listed] == [("alice", None), ("alice", True), ("bob", None)]
    ends = [datetime.fromisoformat(key["expires"]) - datetime.now(UTC) for key in listed[:2]]
    assert ends[0] > timedelta(days=29), "the new key expires as the old one would have"
    assert timedelta(hours=1) < ends[1] <= timedelta(hours=2)
    assert "alice (old)" in keys_command(tmp_path, "list").stdout
    third = keys_command(tmp_path, "rotate", "alice", "--grace", "0", "--expires", "2999-01-01").stdout.strip()
    assert [keys.verify(key) is not None for key in (first, second, third)] == [True, False, True]
    assert keys_command(tmp_path, "remove", "alice").exit_code == 0
    assert [keys.verify(key) for key in (first, second, third)] == [None, None, None]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "x", "--office", "o", "--expires", "soon"], "30d"),
        (["add", "x", "--office", "o", "--expires", "5y"], "30d"),
        (["add", "x", "--office", "o", "--expires", "999999w"], "at most 100 years"),
        (["add", "x", "--office", "o", "--expires", "2020-01-01"], "must be in the future"),
        (["rotate", "alice", "--grace", "a day"], "24h"),
        (["rotate", "old"], "--expires"),
        (["rotate", "nobody"], "no key 'nobody'"),
        (["add", "alice", "--office", "o"], "keys rotate alice"),
    ],
)
def test_a_wrong_wish_about_a_key_changes_nothing(tmp_path: Path, arguments: list[str], says: str) -> None:
    path = tmp_path / "keys.toml"
    past = datetime(2020, 1, 1, tzinfo=UTC)
    write_keys(
        path,
        [
            {"id": "alice", "hash": "sha256:a", "offices": ["o"]},
            {"id": "old", "hash": "sha256:b", "offices": ["o"], "expires": past},
        ],
    )
    before = path.read_text()
    done = keys_command(tmp_path, *arguments)
    assert done.exit_code in (1, 2)
    assert says in done.stderr
    assert path.read_text() == before


def test_it_speaks_tls(tmp_path: Path) -> None:
    pair = self_signed(tmp_path, "127.0.0.1")
    with server_process(*pair.flags) as server:
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(pair.certificate))
        assert httpx.get(server.url + "/healthz", verify=context).json() == {"status": "ok"}


@posix_only
def test_sighup_reloads_limits_keys_and_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("127.0.0.1", ends=timedelta(days=10))
    first = keys_command(tmp_path, "add", "first", "--office", "*").stdout.strip()
    config = tmp_path / "server.toml"
    settings = f'keys_file = "{tmp_path / "keys.toml"}"\ndefault_timeout = 60\n'
    config.write_text(settings)
    trust = ssl.create_default_context(cafile=str(authority.file))
    with server_process("--config", str(config), *pair.flags) as server, httpx.Client(verify=trust) as before:
        assert before.get(server.url + "/healthz").status_code == 200
        serial = served_serial(server.url, trust)

        authority.issue("127.0.0.1", ends=timedelta(days=20))  # into the same files
        keys_command(tmp_path, "add", "second", "--office", "*")
        keys_command(tmp_path, "remove", "first")
        config.write_text(settings.replace("60", "61") + 'host = "127.0.0.2"\nlog_level = "debug"\n')
        server.process.send_signal(signal.SIGHUP)
        line = server.wait_for("reloaded: .*").group()
        for change in (
            "default_timeout 60 → 61",
            "log_level info → debug",
            "added 'second', removed 'first'",
            f"certificate {serial:x} (valid until ",
            "not changed before a restart: host",
        ):
            assert change in line
        assert served_serial(server.url, trust) != serial
        assert before.get(server.url + "/healthz").status_code == 200, "an open connection goes on"
        assert first not in "".join(server.log)

        config.write_text(settings + "request_burst = 0\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(r"nothing was changed: .*server\.toml: line 3: request_burst: ")
        config.write_text(settings + "request_burst = \n")
        before_it = len(server.log)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(r"nothing was changed: .*server\.toml: .*line 3", after=before_it)
        config.write_text(settings)
        pair.key.write_text(pair.certificate.read_text())
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(rf"nothing was changed: {pair.certificate}, {pair.key}: ")
        assert server.stop(signal.SIGTERM) == 0


def served_serial(url: str, trust: ssl.SSLContext) -> int:
    """The serial number of the certificate that a new connection gets."""
    address = urlsplit(url)
    assert address.hostname is not None
    with (
        socket.create_connection((address.hostname, address.port or 0), PATIENCE) as connection,
        trust.wrap_socket(connection, server_hostname=address.hostname) as secure,
    ):
        certificate = secure.getpeercert()
        assert certificate is not None
        return int(str(certificate["serialNumber"]), 16)


@posix_only
def test_a_terminal_that_closes_stops_it() -> None:
    import pty

    master, slave = pty.openpty()
    server = subprocess.Popen(
        [*IN_THE_TERMINAL, *A2C, "server", "--port", "0"],
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    try:
        os.close(slave)
        shown = b""
        while b"press Ctrl-C to stop" not in shown:
            shown += os.read(master, 4_096)
        os.close(master)
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
        server.wait()


def test_help_and_version_answer() -> None:
    assert "server" in a2c("--help").stdout
    assert "--max-message-bytes" in a2c("server", "--help").stdout
    assert a2c("--version").stdout.startswith("a2c-stack ")
    assert "Usage" in a2c().stdout + a2c().stderr


@pytest.mark.anyio
async def test_a_running_server_is_shown_and_administered() -> None:
    with server_process() as server:
        computer = Peer()
        assert await computer.connect(server.url)
        assert (await computer.join("computer", "pc", "office"))[0] is True

        async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(a2c, "server", *arguments, "--url", server.url)

        assert json.loads((await run("status", "--json")).stdout)["computers"] == 1
        assert "office" in (await run("members")).stdout
        assert (await run("calls")).stdout == "no calls\n"
        assert (await run("kick", "office", "nobody")).returncode == 1
        assert (await run("kick", "office", "pc")).returncode == 0
        async with asyncio.timeout(PATIENCE):
            await computer.is_gone.wait()
        await computer.disconnect()


def test_a_server_without_console_serves_none() -> None:
    with server_process("--no-console") as server:
        for path in ("/console/", "/api/v1/status"):
            assert httpx.get(f"{server.url}{path}").status_code == 404
        outcome = a2c("server", "status", "--url", server.url)
        assert outcome.returncode == 1
        assert "has no API" in outcome.stderr
