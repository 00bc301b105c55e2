"""Where logins are kept, and that nothing else has their secrets."""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Generator
from typing import Protocol

import pytest

from a2c_smcp.computer.config import input_sources
from a2c_smcp.computer.mcp.oauth import store as store_module
from a2c_smcp.computer.mcp.oauth.store import FILE, LoginStore
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginRefusedError
from tests.support.guarded import WAITING, Guarded, record, visit
from tests.support.hosting import Watched, hosting
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio


async def test_only_the_owner_can_read_a_login(computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    file = next(store.folder.glob(f"*/{FILE}"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


class Keyring(Protocol):
    """A keyring for one test; `answer` is called for each request."""

    kept: dict[str, str]
    answer: Callable[[], object]


@pytest.fixture
def keyring() -> Generator[Keyring]:
    import keyring as library
    from keyring.backend import KeyringBackend

    before = library.get_keyring()  # before the class, which the library would find

    class Memory(KeyringBackend):
        priority = 1  # pyright: ignore[reportAssignmentType]

        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[str, str] = {}
            self.answer: Callable[[], object] = int

        def get_password(self, service: str, username: str) -> str | None:
            self.answer()
            return self.kept.get(username)

        def set_password(self, service: str, username: str, password: str) -> None:
            self.answer()
            self.kept[username] = password

    memory = Memory()
    library.set_keyring(memory)
    try:
        yield memory
    finally:
        library.set_keyring(before)


def fail() -> None:
    raise RuntimeError("the keyring is locked")


async def test_keyring_holds_the_key_of_the_file(server: Guarded, store: LoginStore, keyring: Keyring) -> None:
    async with hosting(server.config(), login_store=store) as computer:
        await computer.alogin("guarded", visit)
    written = next(store.folder.glob(f"*/{FILE}")).read_text("utf-8")
    assert "sealed" in written
    assert not any(token in written for token in server.control()["all"])
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is ServerState.READY
    keyring.kept.clear()  # another user, or a new keyring: the login is lost, and nothing else
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is WAITING


async def test_locked_keyring_keeps_its_key_and_is_asked_again(
    server: Guarded, store: LoginStore, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "KEY_PAUSE", 0.0)
    async with hosting(server.config(), login_store=store) as computer:
        await computer.alogin("guarded", visit)
    keys = dict(keyring.kept)
    keyring.answer = fail
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is WAITING
        assert keyring.kept == keys
        keyring.answer = int
        next(store.folder.glob(f"*/{FILE}")).touch()  # as a login with another process does
        await later.until_state("guarded", ServerState.READY)
    assert server.count("authorizations") == 1


@pytest.mark.parametrize("trouble", ["hangs", "fails"])
async def test_login_works_without_an_answer_of_the_keyring(
    server: Guarded, store: LoginStore, keyring: Keyring, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    monkeypatch.setattr(input_sources, "KEYRING_SECONDS", 0.2)
    is_over = threading.Event()
    keyring.answer = is_over.wait if trouble == "hangs" else fail
    try:
        async with hosting(server.config(), login_store=store) as computer:
            await computer.alogin("guarded", visit)
            assert computer.status_of("guarded").state is ServerState.READY
    finally:
        is_over.set()
    assert record(store)["tokens"]["access_token"]
    assert stat.S_IMODE(next(store.folder.glob(f"*/{FILE}")).stat().st_mode) == 0o600


@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a folder away")
@pytest.mark.parametrize("is_whole", [True, False])
async def test_folder_of_another_user_is_named_before_the_login(
    computer: Watched, store: LoginStore, is_whole: bool
) -> None:
    await computer.alogin("guarded", visit)
    os.chown(store.folder if is_whole else next(store.folder.iterdir()), 12345, 12345)
    shown: list[str] = []
    with pytest.raises(LoginRefusedError, match="belongs to another user"):
        await computer.alogin("guarded", shown.append)
    assert shown == []


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
