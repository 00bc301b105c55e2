"""`a2c doctor` in every broken situation we can make, as a person or a program runs it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from email.utils import formatdate
from importlib import metadata
from pathlib import Path
from typing import Any

import jwt
import pytest
import uvloop

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.cli.doctor.checks import Check, Examination, checks_for
from a2c_smcp.cli.doctor.findings import Level, Report
from a2c_smcp.cli.doctor.machine import check_software
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.server.cluster.address import RedisAddress
from a2c_smcp.server.cluster.redis import script
from tests.support.certificates import DAY, Authority, self_signed
from tests.support.mcp_servers import SERVERS, http_server, raw, stdio, write_config
from tests.support.official import official
from tests.support.peer import crowd
from tests.support.process import a2c, free_port, server_process
from tests.support.programs import Redis, cluster_prefix, redis_command, redis_server, shared_redis
from tests.support.stand_ins import dated, meddler, web_server, without_upgrade
from tests.support.systems import posix_only
from tests.support.terminal import terminal

KEY = "open-sesame-4711"
SECRET = "a secret of at least thirty-two bytes"


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor said, as a program reads it."""

    code: int
    findings: list[dict[str, Any]]

    def find(self, text: str) -> dict[str, Any]:
        """The one finding that says this."""
        found = [finding for finding in self.findings if re.search(text, finding["text"])]
        assert len(found) == 1, self.findings
        return found[0]

    def problem(self, text: str) -> dict[str, Any]:
        """The only problem; it says this, and there is something that can be done."""
        assert [finding["text"] for finding in self.findings if finding["level"] == "problem"] == [self.text(text)]
        assert self.code == 1
        return self.find(text)

    def warning(self, text: str) -> dict[str, Any]:
        """A warning that says this, where nothing is wrong."""
        found = self.find(text)
        assert found["level"] == "warning"
        assert self.code == 0, self.findings
        return found

    def text(self, pattern: str) -> str:
        return self.find(pattern)["text"]

    def levels(self, group: str) -> set[str]:
        found = {finding["level"] for finding in self.findings if finding["group"].startswith(group)}
        assert found, self.findings
        return found


def options_with(**options: Any) -> Options:
    """What the command makes of its flags."""
    given: dict[str, Any] = {
        **dict.fromkeys(("url", "api_key", "ca_file", "office", "name", "config")),
        "port": free_port(), "is_port_given": True, "api_key_header": "x-api-key",
        "keyring": False, "require_subscribe": True, "start": True, "start_timeout": 30,
    }  # fmt: skip
    return Options(**{**given, **options})


def doctor(env: dict[str, str] | None = None, **options: Any) -> Diagnosis:
    """Examine in this process, as the command does."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in (env or {}).items():
            environment.setenv(name, value)
        about = options_with(**options)
        examination = Examination(about, checks_for(about))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(examination.run())
    findings = json.loads(json.dumps([finding.to_json() for finding in examination.findings]))
    return Diagnosis(int(any(finding["level"] == "problem" for finding in findings)), findings)


def doctor_command(*flags: str, env: dict[str, str] | None = None) -> Diagnosis:
    """Run the command, for a program."""
    outcome = a2c("doctor", "--json", "--port", str(free_port()), *flags, env=env)
    assert outcome.stderr == "", outcome.stderr
    said = json.loads(outcome.stdout)
    assert said["ok"] is (outcome.returncode == 0)
    return Diagnosis(outcome.returncode, said["findings"])


@pytest.fixture(scope="module")
def open_server() -> Generator[str]:
    """The address of a Server that wants no key."""
    with server_process() as server:
        yield server.url


@pytest.fixture(scope="module")
def locked_server() -> Generator[str]:
    """The address of a Server that wants `KEY`."""
    with server_process("--api-key", KEY) as server:
        yield server.url


def shelves(*flags: str) -> dict[str, Any]:
    return stdio([sys.executable, str(SERVERS / "shelves.py"), *flags])


# ---------------------------------------------------------------------------------------------------------- all is well


@pytest.mark.anyio
async def test_where_all_is_well_it_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    config = write_config(
        tmp_path, {"raw": stdio(raw()), "shelf": shelves("--prefix", "s_", "--windows", "2", "--documents", "1")}
    )
    with server_process("--api-key", KEY) as server:
        async with crowd(server) as people:
            agent = await people.member("agent", "agent", "office", auth={"token": KEY})
            flags = ["--url", server.url, "--api-key", KEY, "--office", "office", "--config", str(config)]
            said = await asyncio.to_thread(doctor_command, *flags)
            came, went = await agent.hear("notify:enter_office"), await agent.hear("notify:leave_office")
            room = await agent.ask("server:list_room", {"agent": "agent", "req_id": "r", "office_id": "office"})
    assert said.code == 0
    for group in ("Folders", "Port", "Key", "Server", "Configuration", "MCP servers"):
        assert said.levels(group) == {"ok"}, group
    assert said.find("^Python 3")
    assert said.find("WebSocket works")
    assert said.find("clocks .* agree")
    assert said.find("^MCP hosts can use an office at http://.*/mcp/office$")
    assert said.find("raw is ready, MCP 2025-11-25, 15 tools; it took")
    assert said.find("shelf is ready, .* 2 windows, 1 document")
    assert came["computer"].startswith("a2c-doctor-")
    assert went == came
    assert [member["name"] for member in room["sessions"]] == ["agent"]


def test_the_gateway_for_mcp_hosts_is_checked_with_the_key(open_server: str, tmp_path: Path) -> None:
    assert doctor(url=open_server).find("^MCP hosts can use an office at .*/mcp/OFFICE$")["level"] == "ok"
    made = a2c("keys", "add", "pc", "--office", "office", "--role", "computer", "--file", "keys.toml", cwd=tmp_path)
    with server_process("--keys-file", str(tmp_path / "keys.toml")) as server:
        said = doctor(url=server.url, api_key=made.stdout.split()[0], office="office")
        assert said.find("^MCP hosts cannot use .* does not allow an Agent")["level"] == "note"
        assert not [found for found in doctor(url=server.url, api_key="wrong").findings if "MCP hosts" in found["text"]]
    with server_process("--no-mcp") as server:
        assert doctor(url=server.url).find("^the Server does not serve MCP hosts")["level"] == "note"
    with server_process("--mcp-allowed-hosts", "hub.example.com") as server:
        told = doctor(url=server.url).find("^MCP hosts cannot use")
        assert (told["level"], told["advice"]) == ("note", "start the Server with --mcp-allowed-hosts")


def test_a_person_reads_problems_first_with_advice_and_a_count(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw()), "lost": {"command": "no-such-program"}})
    outcome = a2c("doctor", "--config", str(config), "--port", str(free_port()))
    assert outcome.returncode == 1
    lines = outcome.stdout.splitlines()
    assert lines[:2] == ["MCP servers", "  ✗ lost: command not found: no-such-program"]
    assert re.match(r" {6}\w", lines[2])
    rest = lines.index("This machine")
    servers = lines.index("MCP servers", rest)
    assert lines[servers + 1].startswith("  ✓ raw is ready")
    assert not any(line.startswith("  ✗") for line in lines[rest:])
    assert lines[-2] == ""
    assert re.fullmatch(r"1 problem, \d warnings?, \d+ fine", lines[-1])


def test_on_a_terminal_it_shows_what_takes_a_while_and_lines_fit(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw("--mode", "slow_start"))})
    flags = ["doctor", "--config", str(config), "--port", str(free_port())]
    with terminal(tmp_path, *flags, prompt="$", width=72) as screen:
        screen.see("Configuration starting raw")
        screen.see("raw is ready")
        screen.see(r"0 problems, \d+ warnings?, \d+ fine")
        assert screen.end() == 0
        assert "starting" not in screen.screen.text


def test_it_needs_no_options_and_says_what_is_installed() -> None:
    outcome = a2c("doctor", "--port", str(free_port()))
    assert outcome.returncode == 0
    assert "documents" in outcome.stdout


@pytest.mark.anyio
async def test_optional_packages_that_are_missing_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.distribution

    def find(name: str) -> metadata.Distribution:
        if name in ("keyring", "vrl-python", "numpy", "onnxruntime", "opencv-python-headless", "rapidocr"):
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "distribution", find)
    report = Report("This machine")
    await check_software(options_with(), report)
    [note] = [finding.text for finding in report.findings if finding.level is Level.NOTE]
    assert note.startswith("optional extras not installed: keyring, ocr, vrl; ")


@pytest.mark.anyio
@pytest.mark.parametrize("is_there", [True, False])
async def test_the_official_sdk_in_the_same_environment_is_a_warning(
    is_there: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if is_there:
        info = tmp_path / "a2c_smcp-0.4.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a2c-smcp\nVersion: 0.4.2\n", "utf-8")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    report = Report("This machine")
    await check_software(options_with(), report)
    warnings = [finding.text for finding in report.findings if finding.level is Level.WARNING]
    assert any(text.startswith("a2c-smcp 0.4.2 is installed here, too") for text in warnings) is is_there


@pytest.mark.parametrize(
    ("line", "demands", "said"),
    [
        ("0.1", None, "an official one with A2C-SMCP 0.1"),
        ("0.2", None, "an official one with A2C-SMCP 0.2"),
        ("0.3", None, "an official one with A2C-SMCP 0.3"),
        ("0.4", None, "an official one with A2C-SMCP 0.4"),
        ("0.4", "0.4.0", "an official one with A2C-SMCP 0.4"),
        ("0.3", "0.3.1", "an official one with A2C-SMCP 0.3"),
    ],
)
@pytest.mark.anyio
async def test_it_reports_the_version_of_an_official_server(line: str, demands: str | None, said: str) -> None:
    async with official(line, demands=demands) as place:
        found = await asyncio.to_thread(doctor, url=place.url, office="office")
        assert found.code == 0
        assert said in found.text("the Server is")
        if demands not in (None, "0.4.0"):
            assert found.find(f"demands A2C-SMCP {demands}")["level"] == "ok"


@pytest.mark.anyio
async def test_a_version_that_nobody_here_speaks_is_a_problem() -> None:
    async with official("0.4", demands="0.9.0") as place:
        found = await asyncio.to_thread(doctor, url=place.url, office="office")
        found.problem(r"speaks A2C-SMCP 0\.9\.0 and rejects 0\.4\.0")


def test_it_reports_a_server_of_this_project(open_server: str) -> None:
    assert doctor(url=open_server, office="office").find("the Server is one of this project")["level"] == "ok"


def test_options_come_from_the_environment(tmp_path: Path, locked_server: str) -> None:
    config = write_config(tmp_path, {"raw": stdio(raw())})
    env = {"A2C_URL": locked_server, "A2C_API_KEY": KEY, "A2C_OFFICE": "office", "A2C_COMPUTER_CONFIG": str(config)}
    said = doctor_command(env=env)
    assert said.find("office office can be joined")
    assert said.find("raw is ready")


@pytest.mark.parametrize("flags", [["--office", "x"], ["--port", "0"], ["--start-timeout", "0"], ["--nonsense"]])
def test_a_wrong_command_ends_with_2(flags: list[str]) -> None:
    outcome = a2c("doctor", *flags)
    assert outcome.returncode == 2
    assert "Traceback" not in outcome.stderr


# --------------------------------------------------------------------------------------------------------- this machine


def test_a_cache_that_cannot_be_written_to_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = doctor(env={"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert "XDG_CACHE_HOME" in said.problem("document cache .* is not writable")["advice"]


def test_a_port_that_another_web_server_has_is_a_problem_if_it_was_asked_for() -> None:
    with web_server() as url:
        said = doctor(port=int(url.rpartition(":")[2]))
    found = said.problem(r"in use by another web server \(Elsewhere/1\.0")
    assert "a2c server --port" in found["advice"]


def test_a_port_that_some_other_program_has_is_a_problem_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = doctor(port=taken.getsockname()[1])
    assert said.problem("in use by another program")


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_port_that_an_a2c_server_has_is_fine(tmp_path: Path, is_tls: bool) -> None:
    flags = self_signed(tmp_path, "127.0.0.1").flags if is_tls else []
    with server_process(*flags) as server:
        said = doctor(port=int(server.url.rpartition(":")[2]))
    assert said.code == 0
    assert said.find("an A2C Server is listening on port")["level"] == "ok"


# ----------------------------------------------------------------------------------------------------------- the Server


def test_where_nobody_listens_it_says_how_to_start_a_server() -> None:
    port = free_port()
    said = doctor(url=f"http://127.0.0.1:{port}")
    assert f"a2c server --port {port}" in said.problem("nothing is listening")["advice"]


def test_a_name_without_an_address_is_told() -> None:
    assert "spelling" in doctor(url="https://no-such-host.invalid").problem("no address")["advice"]


def test_what_is_no_address_is_told() -> None:
    assert doctor(url="hub.example.com").problem("must start with http://")


@pytest.mark.parametrize(
    ("status", "headers", "says", "advice"),
    [
        (404, {}, r"not an A2C Server: HTTP 404 .*\(Elsewhere", "check the port"),
        (200, {}, "not an A2C Server: HTTP 200", "check the port"),
        (
            301,
            {"Location": "https://hub.example.com/socket.io/"},
            "redirects clients: HTTP 301",
            "--url https://hub.example.com",
        ),
        (302, {"Location": "/login"}, "redirects clients: HTTP 302", "pass /socket.io/ to the Server"),
        (401, {}, "rejects requests: HTTP 401", "let /socket.io/ pass"),
        (502, {}, "not the Server behind it: HTTP 502", "running"),
    ],
)
def test_another_web_server_or_a_proxy_in_the_way_is_told(
    status: int, headers: dict[str, str], says: str, advice: str
) -> None:
    with web_server(status, headers) as url:
        said = doctor(url=url)
    assert advice in said.problem(says)["advice"]


def test_a_server_with_another_socketio_path_is_told_from_a_stranger() -> None:
    with server_process("--socketio-path", "/elsewhere") as server:
        said = doctor(url=server.url)
    assert "--socketio-path" in said.problem("an A2C Server answers, but its Socket.IO is not at /socket.io")["advice"]


def test_a_path_in_the_address_is_told_to_be_of_no_use(open_server: str) -> None:
    assert doctor(url=open_server + "/hub").warning("the path /hub of the URL is not used")


def test_a_proxy_without_websocket_is_a_warning_and_long_polling_works(locked_server: str) -> None:
    with meddler(locked_server, request=without_upgrade) as url:
        said = doctor(url=url, office="office", api_key=KEY)
    assert "proxy_set_header Upgrade" in said.warning(r"WebSocket does not work \(HTTP 400\)")["advice"]
    assert said.find("office office can be joined")["level"] == "ok"


@pytest.mark.parametrize(
    ("seconds", "level"), [(0, "ok"), (30, "warning"), (-30, "warning"), (7200, "problem"), (-7200, "problem")]
)
def test_clocks_that_differ_are_told(open_server: str, seconds: float, level: str) -> None:
    change = dated(formatdate(time.time() + seconds, usegmt=True))
    with meddler(open_server, response=change) as url:
        said = doctor(url=url)
    found = said.find("clock")
    assert found["level"] == level
    assert level == "ok" or ("ahead of" if seconds > 0 else "behind") in found["text"]
    assert said.code == (1 if level == "problem" else 0)


@pytest.mark.parametrize(
    ("names", "begins", "ends", "says"),
    [
        (["127.0.0.1"], -2 * DAY, -DAY, r"certificate expired on \d{4}-\d\d-\d\d"),
        (["127.0.0.1"], DAY, 2 * DAY, "certificate is not valid before"),
        (["hub.example.com", "192.0.2.1"], -DAY, DAY, "not for 127.0.0.1: it is for hub.example.com, 192.0.2.1"),
    ],
)
def test_a_bad_certificate_of_a_known_authority_is_told(
    tmp_path: Path, names: list[str], begins: timedelta, ends: timedelta, says: str
) -> None:
    authority = Authority(tmp_path)
    with server_process(*authority.issue(*names, begins=begins, ends=ends).flags) as server:
        said = doctor(url=server.url, env={"SSL_CERT_FILE": str(authority.file)})
    assert said.problem(says)["advice"]


def test_a_certificate_of_an_unknown_authority_is_told_and_how_to_trust_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with server_process(*authority.issue("127.0.0.1").flags) as server:
        said = doctor(url=server.url)
        assert "--ca-file" in said.problem(r"does not trust the issuer .*Test authority")["advice"]
        trusting = doctor_command("--url", server.url, "--office", "o", "--ca-file", str(authority.file))
        (tmp_path / "stranger").mkdir()
        stranger = Authority(tmp_path / "stranger").file
        assert (
            "operator" in doctor(url=server.url, ca_file=stranger).problem("does not contain the authority")["advice"]
        )
    assert trusting.code == 0
    assert trusting.find("certificate is valid until")["level"] == "ok"
    assert trusting.find("WebSocket works")["level"] == "ok"


def test_a_self_signed_certificate_is_told(tmp_path: Path) -> None:
    with server_process(*self_signed(tmp_path, "127.0.0.1").flags) as server:
        assert "--ca-file" in doctor(url=server.url).problem("self-signed")["advice"]


def test_a_certificate_that_ends_soon_is_a_warning(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with server_process(*authority.issue("127.0.0.1", ends=5 * DAY + timedelta(hours=1)).flags) as server:
        said = doctor_command("--url", server.url, env={"SSL_CERT_FILE": str(authority.file)})
    assert "renew" in said.warning("certificate expires on .* in 5 days")["advice"]


def test_https_where_http_is_spoken_is_told(open_server: str) -> None:
    said = doctor(url=open_server.replace("http:", "https:"))
    assert "http://" in said.problem("not with TLS")["advice"]


def test_http_where_https_is_spoken_is_told(tmp_path: Path) -> None:
    with server_process(*self_signed(tmp_path, "127.0.0.1").flags) as server:
        assert doctor(url=server.url.replace("https:", "http:")).problem("does not answer HTTP requests")


# -------------------------------------------------------------------------------------------------- Redis and a cluster


@pytest.fixture(scope="module")
def locked_redis(tmp_path_factory: pytest.TempPathFactory) -> Generator[Redis]:
    """A Redis that wants `KEY`, and has a user without channels."""
    with redis_server(tmp_path_factory.mktemp("redis"), "--requirepass", KEY) as redis:
        operate(redis, "ACL", "SETUSER", "mute", "on", f">{KEY}", "~*", "resetchannels", "+@all")
        yield redis


def operate(redis: Redis, *command: str) -> None:
    assert redis_command(redis.port, "-a", KEY, "--no-auth-warning", *command) == "OK"


async def enlist(prefix: str) -> None:
    """Two nodes, of which one died long ago, and two members."""
    connection = await RedisAddress.parse(shared_redis().url).connect(prefix, lambda _: None)

    async def run(name: str, node: str, *arguments: str) -> None:
        keys = ("1", f"{{{prefix}}}:nodes", f"{{{prefix}}}", node, "1", "PUBLISH")
        await connection.send("EVAL", script(name), *keys, *arguments)

    for node, lease in (("n1", "60000"), ("n2", "-90000")):
        await run("enlist", node, lease, connection.run_id, "600000", "0")
    await run("commit", "n1", "n1.a", "agent", "", "", "office", "agent", "", "", "")
    await run("commit", "n1", "n1.b", "computer", "", "", "other", "pc", "", "", "")
    connection.close()


def test_a_cluster_is_shown_with_its_nodes_and_members() -> None:
    prefix = cluster_prefix()
    asyncio.run(enlist(prefix))
    said = doctor_command(env={"A2C_REDIS": shared_redis().url, "A2C_REDIS_PREFIX": prefix})
    assert said.find(r"Redis \d+\.\d+ accepts the connection, and is a primary")["level"] == "ok"
    assert said.find(r"a round trip takes [\d.]+ ms")
    assert said.find("evicts no keys .* noeviction")["level"] == "ok"
    assert said.find("scripts run, and messages arrive")["level"] == "ok"
    assert said.find("has 2 nodes, 2 offices, 1 Agent, 1 Computer")["level"] == "ok"
    assert re.search(r"lease ends in (5\d|60)\.\d s", said.text("node n1"))
    assert "remove it" in said.warning(r"node n2: its lease ended (9\d|1\d\d) s ago")["advice"]


def test_a_redis_without_servers_is_fine() -> None:
    said = doctor(redis=shared_redis().url, redis_prefix=cluster_prefix())
    assert said.code == 0
    assert said.find("no Server is in the cluster")["level"] == "note"


@pytest.mark.parametrize(
    ("url", "says", "advice"),
    [
        ("redis://127.0.0.1:{port}", "requires a password", "A2C_REDIS"),
        ("redis://:guessed-0815@127.0.0.1:{port}", "rejects the user name or the password", "A2C_REDIS"),
        (f"redis://mute:{KEY}@127.0.0.1:{{port}}", "scripts or messages do not work: .*NOPERM", "ACL SETUSER"),
        (f"redis://:{KEY}@127.0.0.1:{{port}}/99", "no database 99", "number"),
        ("redis://127.0.0.1:1", "Redis cannot be used: Connection refused", "Redis runs"),
    ],
)
def test_a_redis_that_cannot_be_used_is_told(locked_redis: Redis, url: str, says: str, advice: str) -> None:
    said = doctor(redis=url.format(port=locked_redis.port))
    assert advice in said.problem(says)["advice"]
    assert "guessed-0815" not in str(said)
    assert KEY not in str(said)


def test_what_is_no_url_of_a_redis_is_told_without_its_password() -> None:
    said = doctor(redis="redis://user:guessed-0815")
    assert said.problem("--redis: .* its port is a number")
    assert "guessed-0815" not in str(said)


def test_a_redis_that_evicts_keys_and_a_replica_are_told(locked_redis: Redis) -> None:
    url = f"redis://:{KEY}@127.0.0.1:{locked_redis.port}"
    operate(locked_redis, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert doctor(redis=url).warning("maxmemory-policy is allkeys-lru")
    operate(locked_redis, "CONFIG", "SET", "maxmemory", "100mb")
    assert "noeviction" in doctor(redis=url).problem("evict members")["advice"]
    operate(locked_redis, "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    assert "noeviction" in doctor(redis=url).warning("evict logins of MCP hosts")["advice"]
    operate(locked_redis, "CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert doctor(redis=url).code == 0
    operate(locked_redis, "REPLICAOF", "127.0.0.1", "1")
    assert "redis+sentinel://" in doctor(redis=url).problem("it is a replica")["advice"]
    operate(locked_redis, "REPLICAOF", "NO", "ONE")


# -------------------------------------------------------------------------------------------------------------- the key


def test_a_wrong_key_and_no_key_are_told_apart_and_never_printed(locked_server: str) -> None:
    wrong = doctor(url=locked_server, api_key="guessed-key-0815")
    none = doctor(url=locked_server)
    assert "a2c keys add" in wrong.problem("rejects the key")["advice"]
    assert "guessed-key-0815" not in str(wrong)
    assert "A2C_API_KEY" in none.problem("requires a key, and none is given")["advice"]


def test_a_key_in_another_header_is_taken() -> None:
    with server_process("--api-key", KEY, "--api-key-header", "x-hub") as server:
        assert doctor(url=server.url, api_key=KEY, api_key_header="x-hub").code == 0


@pytest.mark.parametrize(
    ("claims", "level", "says"),
    [
        ({"exp": time.time() + 30 * 86400}, "ok", "valid until"),
        ({"exp": time.time() + 3600}, "warning", "expires soon"),
        ({"exp": time.time() - 3600}, "problem", "expired on"),
        ({"exp": time.time() + 7200, "nbf": time.time() + 3600}, "problem", "not valid before"),
        ({}, "problem", "never expires"),
        ({"exp": time.time() + 3600, "offices": None}, "problem", "names no offices"),
        ({"exp": 1e300}, "ok", "far future"),
    ],
)
def test_a_token_is_read_without_asking_anybody(claims: dict[str, Any], level: str, says: str) -> None:
    token = jwt.encode({"offices": ["*"], **claims}, SECRET)
    said = doctor(api_key=token)
    assert said.find(says)["level"] == level
    assert token not in str(said)


def test_an_expired_token_is_refused_by_the_server_as_well(tmp_path: Path) -> None:
    (tmp_path / "jwt").write_text(SECRET)
    tokens = {ends: jwt.encode({"offices": ["acme"], "exp": time.time() + ends}, SECRET) for ends in (-60, 90000)}
    with server_process("--jwt-key-file", str(tmp_path / "jwt")) as server:
        expired = doctor(url=server.url, api_key=tokens[-60])
        good = doctor(url=server.url, office="acme", api_key=tokens[90000])
    assert expired.find("JSON Web Token that expired")["level"] == "problem"
    assert expired.find("rejects the key")["level"] == "problem"
    assert good.code == 0


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", "schlüssel", f"Bearer {KEY}"])
def test_a_key_that_cannot_be_sent_is_told(key: str) -> None:
    assert doctor(api_key=key).code == 1


def test_an_office_that_the_key_does_not_open_is_told(tmp_path: Path) -> None:
    made = [
        a2c("keys", "add", name, "--office", "acme-*", *flags, cwd=tmp_path).stdout.strip()
        for name, flags in {"any": [], "agent": ["--role", "agent"], "named": ["--name", "lab"]}.items()
    ]
    with server_process("--keys-file", "keys.toml", cwd=tmp_path) as server:

        def visit(key: str, office: str, name: str | None = None) -> Diagnosis:
            return doctor(url=server.url, office=office, name=name, api_key=key)

        assert "--office other" in visit(made[0], "other").problem("office other cannot be joined")["advice"]
        assert visit(made[1], "acme-1").find("office acme-1 can be joined by an Agent")["level"] == "ok"
        assert "--name" in visit(made[2], "acme-1").problem("office acme-1 cannot be joined")["advice"]
        assert visit(made[2], "acme-1", "lab").find("can be joined")["level"] == "ok"


@pytest.mark.anyio
async def test_an_agent_that_looks_at_newcomers_is_told_of(open_server: str) -> None:
    async with AsyncSMCPAgentClient.in_office(open_server, "office", "agent"):
        said = await asyncio.to_thread(doctor, url=open_server, office="office")
    assert "an Agent is there" in said.text("office office can be joined")


@pytest.mark.anyio
async def test_a_name_that_is_taken_is_a_warning_and_its_bearer_stays() -> None:
    with server_process() as server:
        async with crowd(server) as people:
            agent, _ = await people.office("office", "pc")
            said = await asyncio.to_thread(doctor, url=server.url, office="office", name="pc")
            assert all(data["computer"] != "pc" for _, data in await agent.has_heard())
    assert said.warning("cannot be joined: .* is taken")


# ---------------------------------------------------------------------------------------------------- the configuration


def test_every_mistake_of_a_configuration_is_told_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{\n "servers": {\n  "a": {"url": "ftp://x"},\n  "b": {"command": "", "args": 7}\n }\n}\n')
    said = doctor(config=config)
    assert said.code == 1
    for problem in ("line 3: servers.a.url", "line 4: servers.b.command", "line 4: servers.b.args"):
        assert said.find(re.escape(problem))["level"] == "problem"


@pytest.mark.parametrize("text", [None, "{", "[]", "\x00"])
def test_a_configuration_that_is_none_is_one_problem(tmp_path: Path, text: str | None) -> None:
    config = tmp_path / "mcp.json"
    if text is not None:
        config.write_text(text)
    assert doctor(config=config).problem("mcp.json")


def test_inputs_without_a_value_are_told_and_their_servers_not_started(tmp_path: Path) -> None:
    inputs = [
        {"id": "the-token", "type": "promptString", "password": True},
        {"id": "given", "type": "promptString"},
        {"id": "region", "type": "pickString", "options": ["eu", "us"], "default": "eu"},
        {"id": "stored", "type": "command", "command": "no-such-store show"},
    ]
    log = tmp_path / "log"
    servers = {
        "asks": stdio(raw("--log", str(log)), env={"T": "${input:the-token}"}),
        "runs": stdio(raw("--log", str(log)), env={"T": "${input:stored}"}),
        "fine": stdio(raw(), env={"T": "${input:given}", "R": "${input:region}"}),
    }
    config = write_config(tmp_path, servers, inputs)
    said = doctor(config=config, env={"A2C_SMCP_GIVEN": "x"})
    assert "A2C_SMCP_THE_TOKEN" in said.find("input the-token has no value")["advice"]
    assert said.problem("input stored: command not found: no-such-store")
    assert said.find("asks is not started: no value for input the-token")["level"] == "note"
    assert said.find("fine is ready")
    assert not log.exists()
    assert doctor(config=config, env={"A2C_SMCP_GIVEN": "x", "A2C_SMCP_STORED": "y"}).code == 0


@posix_only
def test_secrets_in_clear_are_warned_of_and_not_repeated(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    tells = raw("--mode", "exit")
    servers = {
        "github": {"command": tells[0], "args": tells[1:], "env": {"GITHUB_TOKEN": "ghp_0123456789abcdef0123"}},
        "web": {"url": f"http://127.0.0.1:{free_port()}/mcp?api_key=url-secret-77", "headers": {"X-Key": "header-99x"}},
        "fine": stdio(raw(), env={"TOKEN": "${HIDDEN}"}),
    }
    config.write_text(json.dumps({"servers": servers}, indent=1))
    config.chmod(0o644)
    said = doctor(config=config, env={"HIDDEN": "from-the-environment"})
    found = said.find("github: GITHUB_TOKEN is in plain text")
    assert found["level"] == "warning"
    assert "${input:github-github-token}" in found["advice"]
    line = next(n for n, text in enumerate(config.read_text().splitlines(), 1) if "GITHUB_TOKEN" in text)
    assert f"line {line}:" in found["text"]
    assert said.find("web: api_key is in plain text")
    assert said.find("web: X-Key is in plain text")
    assert said.find("other users can read it")
    shown = a2c("doctor", "--config", str(config), env={"HIDDEN": "from-the-environment"})
    for secret in ("ghp_0123", "url-secret-77", "header-99x", "from-the-environment"):
        assert secret not in str(said)
        assert secret not in shown.stdout + shown.stderr


# ------------------------------------------------------------------------------------------------------ the MCP servers


@pytest.mark.parametrize(
    ("command", "advice"),
    [("npx", "Node.js"), ("uvx", "pip install uv"), ("docker", "docs.docker.com"), ("foo", "full path")],
)
def test_a_missing_program_is_told_and_how_to_have_it(tmp_path: Path, command: str, advice: str) -> None:
    config = write_config(tmp_path, {"it": {"command": command}})
    said = doctor(config=config, env={"PATH": str(tmp_path)})
    assert advice in said.problem(f"it: command not found: {command}")["advice"]


@posix_only
def test_a_missing_folder_and_a_program_that_may_not_be_run_are_told(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    servers = {"a": {"command": sys.executable, "cwd": "/no/such"}, "b": {"command": str(tmp_path / "script")}}
    said = doctor(config=write_config(tmp_path, servers))
    assert "cwd" in said.find("a: its folder /no/such does not exist")["advice"]
    assert "chmod +x" in said.find("b: .* is not executable")["advice"]
    assert said.code == 1


def test_a_server_that_exits_is_told_with_its_last_words(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"it": stdio(raw("--mode", "exit")), "other": stdio(raw())})
    said = doctor(config=config)
    assert said.problem("it does not start: exited with code 3")["details"] == ["raw: cannot start", "raw: giving up"]
    assert said.find("other is ready")


def test_a_server_that_says_nothing_does_not_hold_up_the_others(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"mute": stdio(raw("--mode", "mute")), "other": stdio(raw())})
    said = doctor(config=config, start_timeout=2)
    assert said.problem("mute does not start: did not .* within 2 s")
    assert said.find("other is ready")


def test_windows_that_are_gated_are_told_and_how_to_see_them(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"it": shelves("--windows", "2", "--documents", "1", "--no-subscribe")})
    found = doctor(config=config).warning("its 2 windows and 1 document are not shown: .*resources.subscribe")
    assert "--no-require-subscribe" in found["advice"]
    assert "are not shown" not in str(doctor(config=config, require_subscribe=False))


def test_tools_of_the_same_name_are_told(tmp_path: Path) -> None:
    config = write_config(tmp_path, {"a": stdio(raw()), "b": stdio(raw())})
    said = doctor(config=config)
    assert said.code == 0
    assert any("is hidden: a has one of this name" in finding["text"] for finding in said.findings)


def test_without_a_start_nothing_is_started(tmp_path: Path) -> None:
    log = tmp_path / "log"
    servers = {"it": stdio(raw("--log", str(log))), "off": {"command": "x", "disabled": True}}
    said = doctor(config=write_config(tmp_path, servers), start=False)
    assert said.code == 0
    assert said.find("it: everything that it needs to start is available")
    assert said.find("off is disabled")["level"] == "note"
    assert not log.exists()


def test_a_server_elsewhere_is_reached_or_told_to_be_missing(tmp_path: Path) -> None:
    with http_server("mcp 2.x", "streamable") as mcp:
        servers = {"there": {"url": mcp.url}, "gone": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}
        said = doctor(config=write_config(tmp_path, servers))
    assert said.problem("gone: port .* nothing is listening")
    assert said.find("there is ready")


# ------------------------------------------------------------------------------------------------------ checks at large


@pytest.mark.anyio
async def test_a_check_that_breaks_or_hangs_is_a_finding_and_the_others_go_on() -> None:
    async def breaks(options: Options, report: Report) -> None:
        report.ok("so far so good")
        raise KeyError(KEY)

    async def hangs(options: Options, report: Report) -> None:
        await asyncio.Event().wait()

    async def works(options: Options, report: Report) -> None:
        report.ok(f"the key is {options.api_key}")

    checks = [Check("A", breaks, 5), Check("B", hangs, 0.05), Check("C", works, 5)]
    examination = Examination(options_with(api_key=KEY), checks)
    await examination.run()
    told = [(finding.group, finding.level) for finding in examination.findings]
    assert told == [("A", Level.OK), ("A", Level.PROBLEM), ("B", Level.PROBLEM), ("C", Level.OK)]
    assert "KeyError" in examination.findings[1].text
    assert not any(KEY in finding.text for finding in examination.findings)
