"""Our applications under web servers of others: hypercorn and granian with ASGI, gunicorn with WSGI, also with TLS."""

from __future__ import annotations

import contextlib
import signal
import ssl
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.certificates import Authority
from tests.support.javascript import TRANSPORTS, play
from tests.support.process import LineProcess, free_port
from tests.support.waiting import PATIENCE

PROGRAM = """
from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider
from a2c_smcp.server.app import create_app, create_wsgi_app

asgi = create_app(DefaultAuthenticationProvider("js-key"))
wsgi = create_wsgi_app(DefaultSyncAuthenticationProvider("js-key"))
"""
SERVERS = {
    "hypercorn": ["hypercorn", "--bind", "127.0.0.1:{port}", "program:asgi"],
    "granian": ["granian", "--interface", "asgi", "--host", "127.0.0.1", "--port", "{port}", "program:asgi"],
    "gunicorn": [
        "gunicorn",
        "--threads",
        "20",
        "--graceful-timeout",
        "1",
        "--bind",
        "127.0.0.1:{port}",
        "program:wsgi",
    ],
}


@contextlib.contextmanager
def serving(folder: Path, server: str, *options: str, ca: Path | None = None) -> Generator[str]:
    """The program, behind a web server; its address."""
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    port = str(free_port())
    command = [sys.executable, "-m", *(part.format(port=port) for part in SERVERS[server]), *options]
    url = f"{'https' if ca else 'http'}://127.0.0.1:{port}"
    trust: Any = ssl.create_default_context(cafile=ca) if ca else True
    with contextlib.closing(LineProcess(command, cwd=folder, env={"PYTHONPATH": str(folder)})) as process:
        transport = httpx.HTTPTransport(retries=8, verify=trust)
        with httpx.Client(transport=transport, timeout=PATIENCE) as http:
            assert http.get(f"{url}/healthz").json() == {"status": "ok"}, process.text
        yield url
        process.stop(signal.SIGTERM)
        assert "Traceback" not in process.text, process.text


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", SERVERS)
def test_the_official_client(server: str, transport: str, tmp_path: Path) -> None:
    with serving(tmp_path, server) as url:
        play(url, transport)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_with_tls_in_threads(transport: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.issue("127.0.0.1")
    flags = ("--certfile", str(pair.certificate), "--keyfile", str(pair.key))
    with serving(tmp_path, "gunicorn", *flags, ca=authority.file) as url:
        play(url, transport, NODE_EXTRA_CA_CERTS=str(authority.file))
