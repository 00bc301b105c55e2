"""What is in deploy/ fits the program and itself: commands, options, files, ports, times and sizes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from a2c_smcp.cli.main import app
from a2c_smcp.computer.config.files import load_config
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server.app import LOGIN_PATHS, transport_limit
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.system.paths import SERVICES
from tests.support.process import server_process

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
CLUSTER = {file.name: file.read_text("utf-8") for file in (DEPLOY / "cluster").iterdir()}
"""The configurations of proxies before several Servers."""
MADE_BY_HAND = {"server", "documents", "computer.env"}
"""What compose.yaml needs and the README has you make."""
STOP_RESERVE = 10
"""Seconds that a Server needs beyond `grace` to say goodbye."""


def parse(*words: str) -> dict[str, Any]:
    """What the program makes of a command line. It fails where an option is unknown; nothing is run."""
    command: Any = get_command(app)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    return command.make_context("a2c", rest).params


def settings_of(unit: Path) -> dict[str, list[str]]:
    """The settings of a unit; each may be given several times."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text("utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def dockerfile() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage, in order."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text("utf-8"))
    stages: dict[str, list[tuple[str, str]]] = {}
    stage = ""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stage = rest.rpartition(" AS ")[2]
        if line and not line.startswith("#") and name != "ARG":
            stages.setdefault(stage, []).append((name, rest))
    return stages


def json_of(instructions: list[tuple[str, str]], name: str) -> list[str]:
    """An instruction in its exec form."""
    return yaml.safe_load(next(rest for instruction, rest in instructions if instruction == name))


# -------------------------------------------------------------------------------------------------------------- systemd


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_service_starts_what_the_program_understands(unit: Path) -> None:
    program, *words = shlex.split(settings_of(unit)["ExecStart"][0])
    assert program == "/opt/a2c/bin/a2c"
    assert parse(*words)["config"] is not None


def test_a_computer_is_a_service_without_a_prompt_under_the_name_of_its_unit() -> None:
    unit = settings_of(DEPLOY / "systemd" / "a2c-computer@.service")
    options = parse(*shlex.split(unit["ExecStart"][0])[1:])
    assert options["no_interactive"] is True
    assert options["name"] == "%i"
    assert unit["LoadCredential"] == [f"{options['config'].name}:/etc/a2c/computers/%i.json"]
    assert unit["KillMode"] == ["mixed"]


def test_the_owner_finds_a_computer_that_is_a_service() -> None:
    unit = settings_of(DEPLOY / "systemd" / "a2c-computer@.service")
    name = str(SERVICES.relative_to("/run"))
    assert unit["RuntimeDirectory"] == [f"{name}/%i"]
    assert unit["RuntimeDirectoryMode"] == ["0700"]
    assert f"A2C_RUNTIME_DIR=%t/{name}/%i" in unit["Environment"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_service_can_do_little_and_comes_back_unless_its_settings_are_wrong(unit: Path) -> None:
    found = settings_of(unit)
    assert "DynamicUser" in found or "User" in found
    for name in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "RestrictSUIDSGID"):
        assert found[name] == ["yes"], name
    assert found["ProtectSystem"] == ["strict"]
    assert found["CapabilityBoundingSet"] == [""]
    assert found["Restart"] == ["on-failure"]
    assert found["RestartPreventExitStatus"] == ["2"]
    assert "WatchdogSec" not in found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_no_fault(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here")
    copy = tmp_path / unit.name.replace("@", "@lab")
    copy.write_text(unit.read_text("utf-8").replace("/opt/a2c/bin/a2c", sys.executable), "utf-8")
    outcome = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60, check=False
    )
    assert copy.name not in outcome.stderr, outcome.stderr


def test_a_server_gets_longer_to_stop_than_its_calls_get() -> None:
    needed = ServerSettings().grace + STOP_RESERVE
    for unit in UNITS:
        assert float(settings_of(unit)["TimeoutStopSec"][0].removesuffix("s")) >= needed
    for name in ("server", "computer"):
        assert float(compose()["services"][name]["stop_grace_period"].removesuffix("s")) >= needed


def test_the_settings_of_the_server_are_valid_and_its_keys_where_it_may_read_them() -> None:
    settings = ServerSettings.load({}, DEPLOY / "systemd" / "server.toml")
    unit = settings_of(DEPLOY / "systemd" / "a2c-server.service")
    assert settings.is_local
    assert settings.keys_file is not None
    assert str(settings.keys_file.parent) == f"/var/lib/{unit['StateDirectory'][0]}"


# ----------------------------------------------------------------------------------------------------------- containers


@pytest.mark.parametrize("target", ["server", "computer"])
def test_an_image_starts_what_the_program_understands_and_not_as_root(target: str) -> None:
    stages = dockerfile()
    instructions = stages[target]
    entry = json_of(instructions, "ENTRYPOINT")
    assert entry[-1] == "a2c"
    assert parse(*json_of(instructions, "CMD"))
    users = [rest for name, rest in instructions if name == "USER"]
    assert users[-1].isdecimal()
    assert users[-1] != "0"
    assert ("STOPSIGNAL", "SIGTERM") in stages["base"]


def test_process_1_of_a_computer_buries_the_dead() -> None:
    assert json_of(dockerfile()["computer"], "ENTRYPOINT")[0] == "tini"


def test_what_an_image_copies_is_there_and_reaches_the_build() -> None:
    let_in = set(re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE))
    stages = dockerfile()
    for instructions in stages.values():
        for name, rest in instructions:
            if name != "COPY":
                continue
            words = rest.split()
            if words[0].startswith("--from="):
                assert words[0].removeprefix("--from=") in stages
                continue
            for source in words[:-1]:
                assert (ROOT / source).exists()
                assert source in let_in


def test_the_health_check_tells_a_server_that_answers_from_one_that_does_not() -> None:
    rest = next(rest for name, rest in dockerfile()["server"] if name == "HEALTHCHECK")
    command: list[str] = yaml.safe_load(rest.partition("CMD ")[2])

    def check(port: str) -> int:
        words = [sys.executable, *(word.replace("8000", port) for word in command[1:])]
        return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode

    with server_process() as server:
        port = server.url.rpartition(":")[2]
        assert check(port) == 0
    assert check(port) != 0


def test_compose_starts_what_the_program_understands() -> None:
    services = compose()["services"]
    server = parse(*services["server"]["command"])
    computer = parse(*services["computer"]["command"])
    assert parse("keys", *services["keys"]["command"])
    assert server["keys_file"] == Path(services["keys"]["environment"]["A2C_KEYS_FILE"])
    assert computer["url"] == f"http://server:{server['port']}"
    assert services["server"]["ports"] == [f"127.0.0.1:{server['port']}:{server['port']}"]
    assert services["caddy"]["environment"]["A2C_UPSTREAM"] == f"server:{server['port']}"
    assert ("EXPOSE", str(server["port"])) in dockerfile()["server"]


def test_compose_refers_to_what_is_there() -> None:
    composed = compose()
    readme = (DEPLOY / "README.md").read_text("utf-8")
    for service in composed["services"].values():
        if "build" in service:
            assert service["build"]["target"] in dockerfile()
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        for volume in service["volumes"]:
            source = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", volume).split(":")[0]
            if not source.startswith("."):
                assert source in composed["volumes"]
            elif (name := source.removeprefix("./")) not in MADE_BY_HAND:
                assert (DEPLOY / name).is_file()
        for file in service.get("env_file", []):
            assert (DEPLOY / f"{file}.example").is_file()
    assert all(name in readme for name in MADE_BY_HAND)


def test_the_documents_are_where_the_computer_looks_for_them() -> None:
    config = load_config(DEPLOY / "mcp.json")
    assert not config.warnings
    folder = config.servers[0].parameters()["args"][1]
    assert any(volume.endswith(f":{folder}:ro") for volume in compose()["services"]["computer"]["volumes"])


@pytest.mark.parametrize("name", ["server", "computer", "keys"])
def test_a_container_can_do_little(name: str) -> None:
    service = compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


# -------------------------------------------------------------------------------------------------------------- proxies


PUBLIC = {"/socket.io/", "/mcp/", "/healthz", "/readyz"}


def test_proxies_lead_to_the_server_and_keep_its_metrics() -> None:
    port = ServerSettings.load({}, DEPLOY / "systemd" / "server.toml").port
    nginx = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert f"server 127.0.0.1:{port};" in nginx
    assert set(re.findall(r"location (?:= )?(\S+) \{\s*proxy_pass", nginx)) == PUBLIC
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert f"{{$A2C_UPSTREAM:127.0.0.1:{port}}}" in caddy
    assert "@public path /socket.io/* /healthz /readyz" in caddy
    assert "handle /mcp/* {" in caddy


def test_proxies_let_pass_what_the_server_would_read() -> None:
    limit = transport_limit(Limits())
    nginx = (DEPLOY / "nginx.conf").read_text("utf-8")
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8") + CLUSTER["Caddyfile"]
    megabytes = re.findall(r"client_max_body_size (\d+)m;", nginx) + re.findall(r"max_size (\d+)MiB", caddy)
    assert len(megabytes) == 6
    assert all(int(size) * 2**20 >= limit for size in megabytes)
    assert "proxy_set_header Upgrade $http_upgrade;" in nginx
    assert "proxy_set_header Connection $a2c_connection;" in nginx


def test_mcp_hosts_can_log_in_through_every_proxy() -> None:
    envoy = re.compile("|".join(route["match"]["safe_regex"]["regex"] for route in envoy_routes()[2:]))
    nginx = re.search(r"location ~ (\S+) \{", (DEPLOY / "nginx.conf").read_text("utf-8"))
    assert nginx is not None
    haproxy = [*re.findall(r"\{ path(?:_beg)? (/[^}]+) \}", CLUSTER["haproxy.cfg"])]
    for path in LOGIN_PATHS:
        assert envoy.fullmatch(path), path
        assert re.match(nginx[1], path), path
        assert any(path.startswith(each) for each in " ".join(haproxy).split()), path
        for caddy in ((DEPLOY / "Caddyfile").read_text("utf-8"), CLUSTER["Caddyfile"]):
            (listed,) = re.findall("@logins path (.*)", caddy)
            assert any(fnmatch(path, each) for each in listed.split()), path


def test_proxies_of_a_cluster_lead_to_the_same_two_servers() -> None:
    ports = {"8000", "8001"}
    assert set(re.findall(r"server 127\.0\.0\.1:(\d+);", CLUSTER["nginx.conf"])) == ports
    assert set(re.findall(r"127\.0\.0\.1:(\d+)[ }]", CLUSTER["Caddyfile"])) == ports
    assert set(re.findall(r"server \w+ 127\.0\.0\.1:(\d+) check", CLUSTER["haproxy.cfg"])) == ports
    assert set(re.findall(r"address: 127\.0\.0\.1, port_value: (\d+)", CLUSTER["envoy.yaml"])) == ports


def test_the_upstream_of_a_cluster_takes_the_place_of_the_one_server() -> None:
    upstream = r"^upstream (\w+) \{$"
    (one,) = re.findall(upstream, (DEPLOY / "nginx.conf").read_text("utf-8"), re.MULTILINE)
    assert re.findall(upstream, CLUSTER["nginx.conf"], re.MULTILINE) == [one]


def test_haproxy_and_envoy_choose_by_office_and_otherwise_by_address() -> None:
    rules = re.findall(
        r"http-request set-var\((\S+)\) (src|url_param\(office\)|path,field\(3,/\))", CLUSTER["haproxy.cfg"]
    )
    assert rules == [("txn.member_of", chosen) for chosen in ("src", "url_param(office)", "path,field(3,/)")]
    assert "balance hash var(txn.member_of)\n    hash-type consistent\n" in CLUSTER["haproxy.cfg"]
    of_hosts, of_others, *_ = envoy_routes()
    (policy,) = of_hosts["route"]["hash_policy"]
    rewrite = policy["header"]["regex_rewrite"]
    assert re.sub(rewrite["pattern"]["regex"], rewrite["substitution"], "/mcp/acme/lab?mode=direct") == "acme"
    assert of_others["route"]["hash_policy"] == [
        {"query_parameter": {"name": "office"}, "terminal": True},
        {"connection_properties": {"source_ip": True}},
    ]


def test_proxies_of_a_cluster_keep_metrics_and_ask_whether_a_server_is_ready() -> None:
    assert "@public path /socket.io/* /healthz /readyz" in CLUSTER["Caddyfile"]
    assert "handle /mcp/* {" in CLUSTER["Caddyfile"]
    assert "health_uri /readyz" in CLUSTER["Caddyfile"]
    assert "404 unless { path_beg /socket.io/ /mcp/ } || { path /healthz /readyz }" in CLUSTER["haproxy.cfg"]
    assert "option httpchk GET /readyz" in CLUSTER["haproxy.cfg"]
    *of_members, of_pages, of_logins = (route["match"] for route in envoy_routes())
    assert of_members == [{"prefix": "/mcp/"}, {"prefix": "/socket.io/"}]
    public = [re.compile(match["safe_regex"]["regex"]) for match in (of_pages, of_logins)]
    assert all(public[0].fullmatch(path) for path in ("/healthz", "/readyz"))
    assert not any(each.fullmatch("/metrics") for each in public)
    (servers,) = yaml.safe_load(CLUSTER["envoy.yaml"])["static_resources"]["clusters"]
    assert servers["health_checks"][0]["http_health_check"] == {"path": "/readyz"}


def envoy_routes() -> list[dict[str, Any]]:
    """The routes of Envoy's configuration: of MCP hosts, of clients, and of the pages."""
    (listener,) = yaml.safe_load(CLUSTER["envoy.yaml"])["static_resources"]["listeners"]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return manager["route_config"]["virtual_hosts"][0]["routes"]


# ----------------------------------------------------------------------------------------------------------- the README


def test_the_commands_of_the_readme_are_understood() -> None:
    text = (DEPLOY / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```(?:bash|ini)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`(a2c [^`]+)`", text)
    found = 0
    for line in [*"\n".join(blocks).splitlines(), *inline]:
        command = re.search(r"(?:^|[ =/])a2c ((?:server|computer|keys|doctor|agent|config) .*)", line)
        if command is not None:
            found += 1
            parse(*shlex.split(command[1]))
    assert found >= 4


def test_the_readme_names_every_file_and_its_links_lead_somewhere() -> None:
    text = (DEPLOY / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (DEPLOY / target).exists(), target
    hidden = {".gitignore", "Dockerfile.dockerignore", "README.md", *MADE_BY_HAND}
    files = {path.relative_to(DEPLOY) for path in DEPLOY.rglob("*") if path.is_file()}
    for file in files:
        assert file.parts[0] in hidden or str(file) in text, file
