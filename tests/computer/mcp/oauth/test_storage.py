"""Where logins are kept, and that nothing else has their secrets."""

from __future__ import annotations

import json
import logging
import stat
from typing import ClassVar

import pytest

from a2c_smcp.computer.mcp.oauth.store import FILE, LoginStore
from a2c_smcp.computer.types import ServerState
from tests.support.guarded import WAITING, Guarded, visit
from tests.support.hosting import Watched, hosting

pytestmark = pytest.mark.anyio


async def test_only_the_owner_can_read_a_login(computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    file = next(store.folder.glob(f"*/{FILE}"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_keyring_holds_the_key_of_the_file(
    server: Guarded, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keyring
    from keyring.backend import KeyringBackend

    before = keyring.get_keyring()  # before the class, which the library would find

    class Memory(KeyringBackend):
        priority = 1  # pyright: ignore[reportAssignmentType]
        kept: ClassVar[dict[tuple[str, str], str]] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

    keyring.set_keyring(Memory())
    try:
        async with hosting(server.config(), login_store=store) as computer:
            await computer.alogin("guarded", visit)
        written = next(store.folder.glob(f"*/{FILE}")).read_text("utf-8")
        assert "sealed" in written
        assert not any(token in written for token in server.control()["all"])
        async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
            assert later.status_of("guarded").state is ServerState.READY
        Memory.kept.clear()  # another user, or a new keyring: the login is lost, and nothing else
        async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
            assert later.status_of("guarded").state is WAITING
    finally:
        keyring.set_keyring(before)


async def test_damaged_login_is_no_login(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    next(store.folder.glob(f"*/{FILE}")).write_text("{", "utf-8")
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is WAITING


async def test_nothing_shows_a_token(
    server: Guarded, computer: Watched, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    await computer.alogin("guarded", visit)
    result = await computer.call("echo", text="hi")
    tokens = server.control()["all"]
    shown = [
        repr(result),
        json.dumps(computer.get_config()),
        repr(computer.status),
        repr(await computer.aget_tool_call_history()),
        repr(computer.mcp_servers),
        *capfd.readouterr(),
        *(record.getMessage() for record in caplog.records if not record.name.startswith("httpcore2")),
    ]
    assert tokens
    assert not [token for token in tokens if any(token in text for text in shown)]


async def test_secrets_of_the_configuration_stay_in_it(server: Guarded) -> None:
    config = server.config(client_id="me", client_secret="s3cret-client", scopes=["read"])
    assert "s3cret-client" not in json.dumps(config.shown())
    assert "s3cret-client" not in repr(config)
    assert config.shown()["server_parameters"]["oauth"]["client_id"] == "me"
