"""The official JavaScript client against a real `a2c server` process, and against a Server in threads."""

from __future__ import annotations

import pytest

from a2c_smcp.server import DefaultSyncAuthenticationProvider
from tests.support.javascript import TRANSPORTS, play
from tests.support.process import server_process
from tests.support.running import running


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_joins_calls_is_called_and_is_refused(transport: str) -> None:
    with server_process("--api-key", "js-key") as server:
        play(server.url, transport)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_official_client_does_the_same_with_a_server_in_threads(transport: str) -> None:
    with running("sync", DefaultSyncAuthenticationProvider("js-key")) as server:
        play(server.url, transport)
