"""Clients behind nginx, Caddy, HAProxy and Envoy, with the configurations of deploy/, before both forms of the Server
and a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
import pytest
import yaml

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider
from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider
from a2c_smcp.server.app import create_app
from a2c_smcp.server.serving import uvicorn_config
from a2c_smcp.server.settings import ServerSettings
from scripts import programs
from tests.support.gateway import NEW, OLD, Answers, Hall, RawHost, hall, read_messages
from tests.support.javascript import TRANSPORTS, play
from tests.support.process import free_port
from tests.support.programs import cluster_prefix, find, shared_redis
from tests.support.running import Kind, running, serving_asgi
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
ROLES = ("agent", "computer")


def nginx(folder: Path, port: int, upstreams: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """nginx with deploy/nginx.conf: its part for TLS, as plain HTTP on a port of ours."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    if len(upstreams) > 1:
        upstream = re.compile(r"^upstream a2c_server \{.*?^\}\n", re.MULTILINE | re.DOTALL)
        text, count = upstream.subn(lambda _: (DEPLOY / "cluster" / "nginx.conf").read_text("utf-8"), text)
        assert count == 1
    before, _, tls = text.partition("server {\n    listen 80;")
    site = "server {\n" + tls.partition("server {\n")[2]
    site = re.sub(r"    (ssl_\w+|listen \[::\]:443).*\n", "", site).replace(
        "listen 443 ssl", f"listen 127.0.0.1:{port}"
    )
    for number, address in enumerate(upstreams):
        before = before.replace(f"server 127.0.0.1:{8000 + number};", f"server {address};")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi"))
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\nscgi_temp_path {folder}/scgi;\n{temporary}{before}{site}}}\n",
        "utf-8",
    )
    return [find("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(config)], {}


def caddy(folder: Path, port: int, upstreams: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Caddy with deploy/Caddyfile, as plain HTTP on a port of ours."""
    config = folder / "Caddyfile"
    source = DEPLOY / "cluster" / "Caddyfile" if len(upstreams) > 1 else DEPLOY / "Caddyfile"
    config.write_text("{\n\tadmin off\n}\n" + source.read_text("utf-8"), "utf-8")
    homes = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [find("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]
    return command, {**homes, "A2C_SITE": f"http://127.0.0.1:{port}", "A2C_UPSTREAM": " ".join(upstreams)}


def haproxy(folder: Path, port: int, upstreams: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """HAProxy with deploy/cluster/haproxy.cfg, as plain HTTP on a port of ours."""
    text = (DEPLOY / "cluster" / "haproxy.cfg").read_text("utf-8")
    text, count = re.subn(r"    bind :80\n.*?redirect[^\n]*\n", f"    bind 127.0.0.1:{port}\n", text, flags=re.DOTALL)
    assert count == 1
    for number, address in enumerate(upstreams):
        text = text.replace(f"127.0.0.1:{8000 + number} check", f"{address} check")
    config = folder / "haproxy.cfg"
    config.write_text(text, "utf-8")
    return [find("haproxy"), "-db", "-f", str(config)], programs.environment()


def envoy(folder: Path, port: int, upstreams: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Envoy with deploy/cluster/envoy.yaml, as plain HTTP on a port of ours. Debian has no package of it."""
    found = find("envoy")
    text = (DEPLOY / "cluster" / "envoy.yaml").read_text("utf-8")
    for number, address in enumerate(upstreams):
        text = text.replace(f"port_value: {8000 + number}}}", f"port_value: {address.partition(':')[2]}}}")
    settings = yaml.safe_load(text)
    (listener,) = settings["static_resources"]["listeners"]
    listener["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}
    del listener["filter_chains"][0]["transport_socket"]
    config = folder / "envoy.yaml"
    config.write_text(json.dumps(settings), "utf-8")
    return [found, "--config-path", str(config), "--log-level", "error", "--base-id", str(port)], {}


Proxy = Callable[[Path, int, Sequence[str]], tuple[list[str], dict[str, str]]]


@contextlib.contextmanager
def behind(proxy: Proxy, folder: Path, *urls: str) -> Generator[str]:
    """Run a proxy before the Server at this URL, or before those of a cluster; its address."""
    port = free_port()
    command, environment = proxy(folder, port, [url.removeprefix("http://") for url in urls])
    with subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.PIPE) as process:
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=8), timeout=PATIENCE) as http:
                assert http.get(f"http://127.0.0.1:{port}/healthz").json() == {"status": "ok"}
                assert http.get(f"http://127.0.0.1:{port}/metrics").status_code == 404
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("proxy", [nginx, caddy])
@pytest.mark.parametrize("kind", ["async", "sync"])
def test_the_official_client_behind_a_proxy(kind: Kind, proxy: Proxy, transport: str, tmp_path: Path) -> None:
    provider = (
        DefaultAuthenticationProvider("js-key") if kind == "async" else DefaultSyncAuthenticationProvider("js-key")
    )
    with running(kind, provider) as server, behind(proxy, tmp_path, server.url) as url:
        play(url, transport)


def test_the_proxies_close_idle_connections_before_the_server_does() -> None:
    (cluster,) = yaml.safe_load((DEPLOY / "cluster" / "envoy.yaml").read_text("utf-8"))["static_resources"]["clusters"]
    (options,) = cluster["typed_extension_protocol_options"].values()
    envoys = float(options["common_http_protocol_options"]["idle_timeout"].removesuffix("s"))
    defaults = {"nginx": 60.0, "caddy": 120.0}
    config = uvicorn_config(create_app(None), ServerSettings())
    assert max(envoys, *defaults.values()) < config.timeout_keep_alive


def members(url: str) -> tuple[int, int]:
    """The Agents and the Computers of a node."""
    page = httpx.get(f"{url}/metrics").text
    agents, computers = (re.findall(rf'^a2c_members{{role="{role}"}} (\d+)', page, re.M) for role in ROLES)
    return int(agents[0]), int(computers[0])


def published() -> int:
    """How many messages the nodes have sent each other."""
    return sum(map(int, re.findall(r"cmdstat_s?publish:calls=(\d+)", shared_redis().info("commandstats"))))


@pytest.mark.anyio
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy, envoy])
async def test_members_of_an_office_meet_on_one_node(proxy: Proxy, tmp_path: Path) -> None:
    prefix = cluster_prefix()
    async with contextlib.AsyncExitStack() as stack:
        apps = [create_app(redis=shared_redis().url, redis_prefix=prefix) for _ in range(2)]
        nodes = [stack.enter_context(serving_asgi(app, app))[0] for app in apps]
        url = stack.enter_context(behind(proxy, tmp_path, *nodes))
        for number in range(32):
            office = f"office {number}"
            agent = AsyncSMCPAgentClient(DefaultAgentAuthProvider("agent", office))
            stack.push_async_callback(agent.disconnect)
            await agent.connect_to_server(url, transports=["polling"])  # each request may reach another node
            await agent.join_office()
            await stack.enter_async_context(SMCPComputerClient.in_office(Computer("pc"), url, office))
            assert all(agents == computers for agents, computers in map(members, nodes))
            before = published()
            await agent.get_tools_from_computer("pc")
            assert published() == before
            if (0, 0) not in map(members, nodes):
                break
        else:
            pytest.fail("one node serves all offices")

        # A call between two nodes does pass through Redis: `published` would notice.
        for node in nodes:
            await stack.enter_async_context(SMCPComputerClient.in_office(Computer(node), node, office))
        before = published()
        for node in nodes:
            await agent.get_tools_from_computer(node)
        assert published() > before

        without_office = SMCPComputerClient(computer=Computer("pc"))
        stack.push_async_callback(without_office.disconnect)
        await without_office.reach(url, transports=["polling"])
        await without_office.join_office("another")


# ----------------------------------------------------------------------------------------------------------- MCP hosts


def repeat(data: Any) -> Any:
    """The answer of a tool that repeats a text."""
    return {"content": [{"type": "text", "text": data["params"]["text"]}]}


async def converse(place: Hall, url: str, version: str) -> None:
    """What a host needs of a proxy: large messages, events without delay, and the end of a call when it hangs up."""
    tools = Answers(smcp_tool("echo"), smcp_tool("wait"))
    tools.results["echo"] = repeat

    async def wait(data: Any) -> None:
        report = {"computer": "pc", "req_id": data["req_id"], "progress": 1}
        await computer.ask("server:tool_call_progress", report)
        await asyncio.Event().wait()

    tools.results["wait"] = wait
    office = f"behind {version}"
    computer = await place.fake(tools, office=office)
    async with place.raw(version, f"{url}/mcp/{quote(office)}") as host:
        text = "x" * 3_000_000
        assert (await host.ask("tools/call", {"name": "echo", "arguments": {"text": text}}))["content"][0][
            "text"
        ] == text
        listening = (
            host.open("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 5)
            if version == NEW
            else host.http.stream("GET", host.url, headers=host.headers(""))
        )
        async with asyncio.timeout(PATIENCE):
            await host.ask("tools/list")
            async with listening as stream:
                tools.tools.append(smcp_tool("another"))
                await computer.tell("server:update_tool_list", {"computer": "pc"})
                heard = read_messages(stream)
                while (await anext(heard))["method"] != "notifications/tools/list_changed":
                    pass
            params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}}
            async with host.open("tools/call", params, 9) as call:
                # At once, while the call runs.
                assert (await anext(read_messages(call)))["method"] == "notifications/progress"
            await computer.hear("notify:tool_call_cancel")
    await computer.disconnect()


@pytest.mark.anyio
@pytest.mark.parametrize("proxy", [nginx, caddy])
async def test_mcp_hosts_behind_a_proxy(proxy: Proxy, tmp_path: Path) -> None:
    async with hall() as place:
        with behind(proxy, tmp_path, place.server.url) as url:
            for version in (OLD, NEW):
                await converse(place, url, version)


@pytest.mark.anyio
@pytest.mark.parametrize("proxy", [nginx, caddy, haproxy, envoy])
async def test_the_mcp_hosts_of_an_office_reach_its_node(proxy: Proxy, tmp_path: Path) -> None:
    prefix = cluster_prefix()
    async with contextlib.AsyncExitStack() as stack:
        apps = [create_app(redis=shared_redis().url, redis_prefix=prefix) for _ in range(2)]
        nodes = [stack.enter_context(serving_asgi(app, app))[0] for app in apps]
        url = stack.enter_context(behind(proxy, tmp_path, *nodes))
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=PATIENCE))
        for number in range(32):
            office = f"office-{number}"
            await stack.enter_async_context(SMCPComputerClient.in_office(Computer("pc"), url, office))
            host = RawHost(http, f"{url}/mcp/{office}", NEW)
            await host.ask("tools/list")
            assert all(agents == computers for agents, computers in map(members, nodes))
            before = published()
            await host.ask("tools/list")
            assert published() == before
            if (0, 0) not in map(members, nodes):
                break
        else:
            pytest.fail("one node serves all offices")
