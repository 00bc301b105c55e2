"""The official JavaScript client against a real `a2c server` process, a Server in threads, and a cluster."""

from __future__ import annotations

import asyncio

import pytest

from a2c_smcp.server import DefaultAuthenticationProvider, DefaultSyncAuthenticationProvider
from tests.support.javascript import TRANSPORTS, play
from tests.support.process import server_process
from tests.support.proxy import network
from tests.support.running import RunningCluster, running


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_joins_calls_is_called_and_is_refused(transport: str) -> None:
    with server_process("--api-key", "js-key") as server:
        play(server.url, transport)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_does_the_same_with_a_server_in_threads(transport: str) -> None:
    with running("sync", DefaultSyncAuthenticationProvider("js-key")) as server:
        play(server.url, transport)


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["polling", "polling,websocket"])
async def test_the_official_client_does_the_same_with_a_cluster_without_affinity(transport: str) -> None:
    with running("cluster", DefaultAuthenticationProvider("js-key")) as server:
        assert isinstance(server, RunningCluster)
        async with network([node.url for node in server.nodes]) as wires:
            await asyncio.to_thread(play, wires.url, transport)
