"""A Server whose certificate comes from a private authority: an Agent trusts it, or is told what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, SMCPAgentClient
from a2c_smcp.errors import NotConnectedError
from tests.support.agents import Driven, Form
from tests.support.certificates import Authority
from tests.support.process import a2c, server_process
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Secured:
    url: str
    authority: Path
    stranger: Path
    """Another authority."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Generator[Secured]:
    ours, theirs = Authority(tmp_path_factory.mktemp("ours")), Authority(tmp_path_factory.mktemp("theirs"))
    with server_process(*ours.issue("127.0.0.1").flags) as server:
        yield Secured(server.url, ours.file, theirs.file)


def agent(form: Form, **options: Any) -> Driven:
    provider = DefaultAgentAuthProvider("agent", f"office of {form}")
    return Driven(form, (AsyncSMCPAgentClient if form == "async" else SMCPAgentClient)(provider, **options))


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_an_agent_that_trusts_the_authority_connects_again_and_again(
    secured: Secured, form: Form, transport: str
) -> None:
    client = agent(form, ca_file=secured.authority)
    async with asyncio.timeout(PATIENCE):
        for _ in range(2):
            await client.connect_to_server(secured.url, transports=[transport])
            await client.join_office()
            await client.disconnect()
    await eventually(lambda: not connections_to(secured.url))  # TLS says goodbye after the client has disconnected


def connections_to(url: str) -> list[Any]:
    port = urlsplit(url).port
    return [each for each in psutil.Process().net_connections("tcp") if each.raddr and each.raddr.port == port]


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_an_agent_that_does_not_is_told_what_to_do(secured: Secured, form: Form) -> None:
    async with asyncio.timeout(PATIENCE):
        for options, says in (({}, "--ca-file"), ({"ca_file": secured.stranger}, str(secured.stranger))):
            client = agent(form, **options)
            with pytest.raises(NotConnectedError, match=says):
                await client.connect_to_server(secured.url)
            await client.disconnect()
        elsewhere = agent(form, ca_file=secured.authority)
        with pytest.raises(NotConnectedError, match="another name"):
            await elsewhere.connect_to_server(secured.url.replace("127.0.0.1", "localhost"))
        await elsewhere.disconnect()


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_file_that_is_none_of_certificates_is_an_error_at_once(form: Form, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.pem"):
        agent(form, ca_file=tmp_path / "missing.pem")
    (tmp_path / "empty.pem").touch()
    with pytest.raises(ValueError, match=r"empty\.pem: no certificates"):
        agent(form, ca_file=tmp_path / "empty.pem")


def test_commands_take_the_authority_from_the_environment_or_a_flag(secured: Secured, tmp_path: Path) -> None:
    flags = ("--url", secured.url, "--office", "o")
    listed = a2c("agent", *flags, "computers", "--json", env={"A2C_CA_FILE": str(secured.authority)})
    assert listed.returncode == 0, listed.stderr
    refused = a2c("agent", *flags, "--ca-file", str(secured.stranger), "computers")
    assert refused.returncode == 3
    assert f"not issued by an authority in {secured.stranger}" in refused.stderr
    wrong = a2c("computer", *flags, "--ca-file", "missing.pem", "--no-interactive", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, "a2c: --ca-file missing.pem: No such file or directory\n")
