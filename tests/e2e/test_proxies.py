"""Clients behind nginx and Caddy, with the configurations of deploy/, before both forms of the Server."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import httpx
import pytest

from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider
from tests.support.javascript import TRANSPORTS, play
from tests.support.process import free_port
from tests.support.programs import find
from tests.support.running import Kind, running
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"


def nginx(folder: Path, port: int, upstream: str) -> tuple[list[str], dict[str, str]]:
    """nginx with deploy/nginx.conf: its part for TLS, as plain HTTP on a port of ours."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    before, _, tls = text.partition("server {\n    listen 80;")
    site = "server {\n" + tls.partition("server {\n")[2]
    site = re.sub(r"    (ssl_\w+|listen \[::\]:443).*\n", "", site).replace(
        "listen 443 ssl", f"listen 127.0.0.1:{port}"
    )
    before = before.replace("server 127.0.0.1:8000;", f"server {upstream};")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi"))
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\nscgi_temp_path {folder}/scgi;\n{temporary}{before}{site}}}\n",
        "utf-8",
    )
    return [find("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(config)], {}


def caddy(folder: Path, port: int, upstream: str) -> tuple[list[str], dict[str, str]]:
    """Caddy with deploy/Caddyfile, as plain HTTP on a port of ours."""
    config = folder / "Caddyfile"
    config.write_text("{\n\tadmin off\n}\n" + (DEPLOY / "Caddyfile").read_text("utf-8"), "utf-8")
    homes = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = [find("caddy"), "run", "--config", str(config), "--adapter", "caddyfile"]
    return command, {**homes, "A2C_SITE": f"http://127.0.0.1:{port}", "A2C_UPSTREAM": upstream}


Proxy = Callable[[Path, int, str], tuple[list[str], dict[str, str]]]


@contextlib.contextmanager
def behind(proxy: Proxy, folder: Path, url: str) -> Generator[str]:
    """Run a proxy before the Server at `url`; its address."""
    port = free_port()
    command, environment = proxy(folder, port, url.removeprefix("http://"))
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
