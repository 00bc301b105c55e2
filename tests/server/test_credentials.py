"""API keys and JSON Web Tokens: what opens, what does not, and what a credential allows."""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from a2c_smcp.errors import NotAuthenticatedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.server import (
    CredentialAuthenticationProvider,
    CredentialSyncAuthenticationProvider,
    JWTVerifier,
    KeyFile,
    SharedSecret,
)
from a2c_smcp.server.key_file import hash_key, mint_key, write_keys
from a2c_smcp.server.last_used import read_uses
from tests.support.peer import crowd
from tests.support.running import Kind, running
from tests.support.waiting import PATIENCE

SECRET = "0123456789abcdef0123456789abcdef"
CLAIMS: dict[str, Any] = {"offices": ["acme-*"], "roles": ["agent"], "name": "alice", "sub": "u1"}


def token(key: Any = SECRET, algorithm: str = "HS256", **changes: Any) -> str:
    claims = {**CLAIMS, "exp": time.time() + 60, **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, key, algorithm)


def pem(key: Any) -> tuple[str, str]:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


RSA = pem(rsa.generate_private_key(65537, 2048))
EC = pem(ec.generate_private_key(ec.SECP256R1()))
GRANT = Grant(offices=("acme-*",), roles=frozenset(("agent",)), name="alice", subject="u1")


def test_tokens_of_all_three_algorithms_open() -> None:
    assert JWTVerifier(SECRET).verify(token()) == GRANT
    assert JWTVerifier(RSA[1]).verify(token(RSA[0], "RS256")) == GRANT
    assert JWTVerifier(EC[1]).verify(token(EC[0], "ES256")) == GRANT


@pytest.mark.parametrize(
    "bad",
    [
        token(exp=time.time() - 60),
        token(exp=None),
        token(nbf=time.time() + 600),
        token("another secret of thirty-two bytes"),
        token(offices=None),
        token(offices="acme"),
        token(offices=[1]),
        token(roles=["boss"]),
        token(roles="agent"),
        token(name=5),
        jwt.encode({**CLAIMS, "exp": time.time() + 60}, "", "none"),
        token()[:-4] + "AAAA",
        token().replace(".", "", 1),
        "a.b.c",
        "",
        "..",
    ],
)
def test_expired_forged_and_malformed_tokens_do_not(bad: str) -> None:
    assert JWTVerifier(SECRET).verify(bad) is None


def test_a_public_key_is_never_taken_for_an_hmac_secret() -> None:
    import base64
    import hashlib

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = part(b'{"alg":"HS256","typ":"JWT"}')
    body = part(b'{"offices":["*"],"exp":99999999999}')
    signature = part(hmac.new(RSA[1].encode(), f"{head}.{body}".encode(), hashlib.sha256).digest())
    assert JWTVerifier(RSA[1]).verify(f"{head}.{body}.{signature}") is None


def test_audience_and_issuer_are_checked_when_named() -> None:
    verifier = JWTVerifier(SECRET, audience="a2c", issuer="me")
    assert verifier.verify(token(aud="a2c", iss="me")) == GRANT
    assert verifier.verify(token(aud="a2c")) is None
    assert verifier.verify(token(aud="other", iss="me")) is None
    assert JWTVerifier(SECRET).verify(token(aud="whoever")) == GRANT


def test_a_token_of_another_family_is_refused_like_any_other() -> None:
    assert JWTVerifier(RSA[1]).verify(token(EC[0], "ES256")) is None
    assert JWTVerifier(EC[1]).verify(token(RSA[0], "RS256")) is None


@pytest.mark.parametrize("key", ["short", RSA[0], RSA[1].replace("M", "N")])
def test_keys_that_would_be_unsafe_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"key|secret"):
        JWTVerifier(key)


def test_the_shared_secret_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert SharedSecret("secret").verify("guess") is None
    assert compared == [(b"guess", b"secret")]


def test_keys_are_stored_as_hashes_and_reread_when_the_file_changes(tmp_path: Path) -> None:
    path, first, second = tmp_path / "keys.toml", mint_key(), mint_key()
    entry = {"id": "one", "hash": hash_key(first), "offices": ["acme-*", 'we "quote" \\ 你好']}
    write_keys(path, [entry])
    assert first not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    keys = KeyFile(path)
    assert keys.verify(first) == Grant(offices=("acme-*", 'we "quote" \\ 你好'), subject="one")
    assert keys.verify(second) is None
    assert keys.verify(hash_key(first)) is None
    write_keys(path, [{"id": "two", "hash": hash_key(second), "offices": ["o"], "roles": ["agent"], "name": "n"}])
    assert keys.verify(first) is None
    assert keys.verify(second) == Grant(("o",), frozenset(("agent",)), "n", "two")


def test_a_broken_key_file_lets_nobody_new_in_and_nobody_old_out(tmp_path: Path) -> None:
    path, key = tmp_path / "keys.toml", mint_key()
    write_keys(path, [{"id": "one", "hash": hash_key(key), "offices": ["o"]}])
    keys = KeyFile(path)
    path.write_text("[[keys]]\nhash = 5")
    assert keys.verify(key) is not None
    path.unlink()
    assert keys.verify(key) is not None
    assert keys.verify("other") is None


def test_a_broken_key_file_is_reported_once_with_its_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, key = tmp_path / "keys.toml", mint_key()
    write_keys(path, [{"id": "one", "hash": hash_key(key), "offices": ["o"]}])
    keys = KeyFile(path)
    path.write_text(path.read_text() + "\n[[keys]]\nhash = 'sha256:x'\noffices = ['o']\nexpires = 'soon'\n")
    for _ in range(3):
        keys.verify(key)
    [record] = caplog.records
    assert f"{path}, line 8: keys[2]: expires: 'soon'" in record.getMessage()


def test_an_expired_key_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(
        f"""
        keys = [
            {{ id = "day", hash = "{hash_key("day")}", offices = ["o"], expires = 2020-12-31 }},
            {{ id = "text", hash = "{hash_key("text")}", offices = ["o"], expires = "2020-12-31T23:59:59Z" }},
            {{ id = "later", hash = "{hash_key("later")}", offices = ["o"], expires = 2999-01-01T00:00:00Z }},
            {{ id = "old", hash = "{hash_key("old")}", offices = ["o"] }},
        ]
        """
    )
    provider = CredentialSyncAuthenticationProvider(KeyFile(path), SharedSecret("all"))
    for key in ("day", "text"):
        with pytest.raises(NotAuthenticatedError, match=f"'{key}' expired on 2020-12-31 23:59 UTC"):
            provider.check({"token": key}, [])
        assert provider.check({"x-api-key": key, "token": "all"}, []) is not None, "another credential is valid"
    for key in ("later", "old"):
        assert provider.check({"token": key}, []) == Grant(offices=("o",), subject=key)


@pytest.mark.anyio
async def test_a_key_that_expires_ends_its_connections(
    kind: Kind, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys.toml"
    entries: list[dict[str, Any]] = [{"id": each, "hash": hash_key(each), "offices": ["o"]} for each in ("a", "b")]
    write_keys(path, entries)
    provider = CredentialAuthenticationProvider if kind == "async" else CredentialSyncAuthenticationProvider
    with running(kind, provider(KeyFile(path, look_seconds=0)), limits=Limits(grant_interval=0.05)) as server:
        async with crowd(server) as people:
            first = await people.member("computer", "first", "o", auth={"token": "a"})
            second = await people.member("computer", "second", "o", auth={"token": "b"})
            write_keys(path, [{**entries[0], "expires": datetime.now(UTC)}, entries[1]])
            async with asyncio.timeout(PATIENCE):
                await first.is_gone.wait()
            refusal = await people.refused(auth={"token": "a"})
            assert refusal["data"] == {"code": 401}
            assert "'a' expired on" in refusal["message"]
            assert not second.is_gone.is_set()
    rejections = [record for record in caplog.records if vars(record).get("key") == "a"]
    assert [vars(record).get("code") for record in rejections] == [None, 401]


@pytest.mark.anyio
async def test_a_key_that_is_removed_ends_its_connections_at_every_node(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    entries: list[dict[str, Any]] = [{"id": each, "hash": hash_key(each), "offices": ["o"]} for each in ("a", "b")]
    write_keys(path, entries)
    provider = CredentialAuthenticationProvider(KeyFile(path, look_seconds=0))
    with running("cluster", provider, limits=Limits(grant_interval=0.05)) as cluster:
        async with crowd(cluster) as people:  # each of them connects to the next node
            gone = [await people.member("computer", f"gone{number}", "o", auth={"token": "a"}) for number in range(3)]
            agent = await people.member("agent", "agent", "o", auth={"token": "b"})
            write_keys(path, entries[1:])
            async with asyncio.timeout(PATIENCE):
                for peer in gone:
                    await peer.is_gone.wait()
            for _ in gone:
                assert (await people.refused(auth={"token": "a"}))["data"] == {"code": 401}
            assert not agent.is_gone.is_set()


def test_the_last_use_of_a_key_is_kept_beside_the_key_file(tmp_path: Path) -> None:
    path, beside = tmp_path / "keys.toml", tmp_path / "keys.toml.used"
    write_keys(path, [{"id": each, "hash": hash_key(each), "offices": ["o"]} for each in ("used", "unused")])
    before = path.read_text()
    beside.write_text("{ half a fi")  # as nobody should have left it
    keys = KeyFile(path)
    for _ in range(3):
        assert keys.verify("used") is not None
        assert keys.verify("guess") is None
    keys.close()
    assert read_uses(beside).keys() == {hash_key("used")}
    assert abs(read_uses(beside)[hash_key("used")] - datetime.now(UTC)) < timedelta(minutes=1)
    assert beside.stat().st_mode & 0o077 == 0
    assert path.read_text() == before
    other = KeyFile(path)  # of another Server
    other.verify("unused")
    other.close()
    assert read_uses(beside).keys() == {hash_key("used"), hash_key("unused")}


def test_a_folder_that_cannot_be_written_to_costs_only_the_last_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "keys.toml"
    write_keys(path, [{"id": "one", "hash": hash_key("key"), "offices": ["o"]}])
    (tmp_path / f"keys.toml.used.{os.getpid()}.new").mkdir()  # the write fails, also for root
    keys = KeyFile(path)
    assert keys.verify("key") is not None
    keys.close()
    assert "last use of keys is not recorded" in caplog.text
    assert keys.verify("key") is not None


@pytest.mark.parametrize(
    "text",
    [
        "[[keys]]\nhash='sha256:x'\noffices=['o']\nrole=['agent']",
        "[[keys]]\nhash='sha256:x'\noffices=['o']\nexpires=5",
        "keys = 5",
        "[[keys]]\nid='a'",
        "[[keys]]\nhash='sha256:x'",
        "[[keys]]\nhash='sha256:x'\noffices=['o']\nroles=['x']",
        "]",
    ],
)
def test_a_key_file_that_is_wrong_from_the_start_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011  # each has a message of its own
        KeyFile(path)


@pytest.mark.anyio
async def test_a_grant_is_enforced_at_join(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    provider = CredentialAuthenticationProvider if kind == "async" else CredentialSyncAuthenticationProvider
    with running(kind, provider(JWTVerifier(SECRET), SharedSecret("all"))) as server:
        async with crowd(server) as people:
            alice = await people.newcomer(auth={"token": token()})
            for role, name, office in [
                ("agent", "alice", "other"),
                ("computer", "alice", "acme-1"),
                ("agent", "bob", "acme-1"),
            ]:
                accepted, reason = await alice.join(role, name, office)
                assert accepted is False
                assert "(403)" in str(reason)
            assert [record.levelname for record in caplog.records if "403" in record.getMessage()] == ["WARNING"] * 3
            assert await alice.join("agent", "alice", "acme-1") == (True, None)
            await people.member("computer", "any", "acme-1", headers={"Authorization": "Bearer all"})
            assert (await people.refused(auth={"token": token(exp=1)}))["data"]["code"] == 401
            assert not [
                record for record in caplog.records if token() in record.getMessage() or SECRET in record.getMessage()
            ]
