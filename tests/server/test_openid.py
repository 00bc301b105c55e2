"""Tokens of an OpenID provider: what they allow, what is rejected, and a provider that fails."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from a2c_smcp.errors import ForbiddenError, NotAuthenticatedError, NotConnectedError
from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server import CredentialAuthenticationProvider, SharedSecret
from a2c_smcp.server.openid import ClaimRule, OpenIDVerifier
from a2c_smcp.server.settings import ServerSettings
from tests.support.logins import Visitor, challenge, visiting
from tests.support.peer import crowd
from tests.support.running import running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

AUDIENCE = "https://hub.example.com"
KEYS = {"rsa": rsa.generate_private_key(65537, 2048), "ec": ec.generate_private_key(ec.SECP256R1())}
NEXT = ec.generate_private_key(ec.SECP256R1())
ALGORITHMS: Mapping[str, Any] = {"rsa": "RS256", "ec": "ES256", "next": "ES256"}


class OpenIDProvider:
    """A provider with two keys. It counts its answers, and answers nothing while it hangs."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = dict(KEYS)
        self.fetches = 0
        self.is_awake = threading.Event()
        self.is_awake.set()
        self.status = 200
        self.named: str | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.is_awake.wait(PATIENCE)
                outer.fetches += 1
                body = json.dumps(outer.document(self.path)).encode()
                try:
                    self.send_response(outer.status)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:  # the Server did not wait
                    pass

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.web.server_port}/realm"

    def document(self, path: str) -> dict[str, Any]:
        if path == "/realm/.well-known/openid-configuration":
            return {"issuer": self.named or self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        keys: list[dict[str, Any]] = []
        for kid, key in self.keys.items():
            maker = RSAAlgorithm if kid == "rsa" else ECAlgorithm
            keys.append({**maker.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"})
        return {"keys": keys}

    def token(self, kid: str = "ec", key: Any = None, **changes: Any) -> str:
        claims = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "u1",
            "exp": time.time() + 60,
            "offices": ["acme"],
            "roles": ["agent"],
            **changes,
        }
        given = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(given, key or self.keys[kid], ALGORITHMS[kid], headers={"kid": kid})

    def verifier(self, *rules: dict[str, Any], **options: Any) -> OpenIDVerifier:
        return OpenIDVerifier(self.issuer, AUDIENCE, rules=[ClaimRule.of(rule) for rule in rules], **options)


@contextmanager
def openid() -> Generator[OpenIDProvider]:
    provider = OpenIDProvider()
    thread = threading.Thread(target=provider.web.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.is_awake.set()
        provider.web.shutdown()
        thread.join()
        provider.web.server_close()


@pytest.fixture
def provider() -> Generator[OpenIDProvider]:
    with openid() as provider:
        yield provider


async def allows(verifier: OpenIDVerifier, token: str, resource: str | None = None) -> Grant | None:
    return await verifier.averify(token, resource)


async def test_tokens_of_both_keys_are_accepted_and_the_keys_are_fetched_once(provider: OpenIDProvider) -> None:
    verifier = provider.verifier()
    expected = Grant(offices=("acme",), roles=frozenset(("agent",)), subject="u1")
    tokens = [provider.token(kid) for kid in ("rsa", "ec")] * 5
    assert await asyncio.gather(*(allows(verifier, token) for token in tokens)) == [expected] * 10
    assert provider.fetches == 2  # its description, and its keys
    named = await allows(verifier, provider.token(agent_name="robot", name="Ann Example"))
    assert named is not None
    assert named.name == "robot"


async def test_other_credentials_do_not_reach_the_provider(provider: OpenIDProvider) -> None:
    verifier = provider.verifier()
    for credential in ("a2c_key", "a.b.c", provider.token(iss="https://another.example"), "x" * 20_000):
        assert await allows(verifier, credential) is None
    with pytest.raises(NotAuthenticatedError, match="HS256"):
        await allows(verifier, jwt.encode({"iss": provider.issuer}, "s" * 32, "HS256"))
    assert provider.fetches == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": None},
        {"nbf": 4_000_000_000},
        {"aud": "https://another.example"},
        {"aud": None},
        {"aud": f"{AUDIENCE}/mcp/other"},
        {"sub": None},
        {"key": NEXT},
    ],
)
async def test_token_that_is_not_valid_here_is_rejected(provider: OpenIDProvider, changes: dict[str, Any]) -> None:
    with pytest.raises(NotAuthenticatedError):
        await allows(provider.verifier(), provider.token(**changes), f"{AUDIENCE}/mcp/acme")


async def test_audience_may_be_the_office(provider: OpenIDProvider) -> None:
    verifier, office = provider.verifier(), f"{AUDIENCE}/mcp/acme"
    for audience in (office, f"{office}/reading", ["https://another.example", office]):
        token = provider.token(aud=audience)
        assert await allows(verifier, token, office) is not None
        with pytest.raises(NotAuthenticatedError):
            await allows(verifier, token, f"{AUDIENCE}/mcp/acm")
        with pytest.raises(NotAuthenticatedError):
            await allows(verifier, token)


async def test_first_rule_that_matches_the_claims_decides(provider: OpenIDProvider) -> None:
    verifier = provider.verifier(
        {"claim": "realm_access.roles", "value": "admin", "offices": ["*"]},
        {"claim": "groups", "value": "lab-*", "offices": ["lab"], "roles": ["computer"]},
        {"claim": "https://example.com/team", "offices": ["team"], "name": "robot"},
    )
    cases: list[tuple[dict[str, Any], Grant]] = [
        ({"realm_access": {"roles": ["user", "admin"]}}, Grant(subject="u1")),
        ({"groups": ["x", "lab-1"]}, Grant(("lab",), frozenset(("computer",)), subject="u1")),
        ({"https://example.com/team": "red"}, Grant(("team",), name="robot", subject="u1")),
    ]
    for claims, grant in cases:
        assert await allows(verifier, provider.token(**claims)) == grant
    with pytest.raises(ForbiddenError):
        await allows(verifier, provider.token(groups=["labx"], realm_access="admin"))
    with pytest.raises(ForbiddenError):
        await allows(provider.verifier(), provider.token(offices=None))


async def test_new_key_of_the_provider_is_fetched_but_not_again_and_again(
    provider: OpenIDProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = provider.verifier()
    assert await allows(verifier, provider.token()) is not None
    provider.keys["next"] = NEXT
    for _ in range(3):  # too early after the last time
        with pytest.raises(NotAuthenticatedError):
            await allows(verifier, provider.token("next"))
    assert provider.fetches == 2
    monkeypatch.setattr("a2c_smcp.server.openid.RETRY_SECONDS", 0.0)
    assert await allows(verifier, provider.token("next")) is not None
    assert provider.fetches == 4


@pytest.mark.parametrize("fault", ["down", "another issuer"])
async def test_provider_that_fails_is_named(provider: OpenIDProvider, fault: str) -> None:
    if fault == "down":
        provider.status = 500
    else:
        provider.named = "https://another.example"
    verifier = provider.verifier()
    with pytest.raises(NotConnectedError, match=r"127\.0\.0\.1"):
        await allows(verifier, provider.token())
    fetched = provider.fetches
    with pytest.raises(NotConnectedError):
        await allows(verifier, provider.token())
    assert provider.fetches == fetched  # it is left alone for a while


async def test_provider_that_hangs_blocks_nobody_else(
    provider: OpenIDProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2c_smcp.server.openid.FETCH_SECONDS", 0.5)
    provider.is_awake.clear()
    checks = CredentialAuthenticationProvider(SharedSecret("shared"), provider.verifier())
    with running("async", checks, public_url=AUDIENCE) as server:
        async with visiting(server.url, AUDIENCE) as visitor:
            waiting = [asyncio.ensure_future(visitor.use(provider.token(), "acme")) for _ in range(5)]
            assert (await visitor.use("shared", "acme")).status_code == 200
            assert not any(each.done() for each in waiting)
            answers = await asyncio.gather(*waiting)
            assert {answer.status_code for answer in answers} == {503}
            assert provider.issuer in answers[0].json()["error"]["message"]


# ----------------------------------------------------------------------------------------------------------- the Server


@pytest.fixture
async def visitor(provider: OpenIDProvider) -> AsyncGenerator[Visitor]:
    checks = CredentialAuthenticationProvider(SharedSecret("shared"), provider.verifier(scopes=["openid", "offices"]))
    with running("async", checks, public_url=AUDIENCE) as server:
        async with visiting(server.url, AUDIENCE) as visitor:
            yield visitor


async def test_hosts_are_sent_to_the_provider(provider: OpenIDProvider, visitor: Visitor) -> None:
    fields = challenge(await visitor.use(None, "acme"))
    office = (await visitor.get(fields["resource_metadata"].removeprefix(AUDIENCE))).json()
    assert office["authorization_servers"] == [provider.issuer]
    assert office["scopes_supported"] == ["openid", "offices"]
    assert fields["scope"] == "openid offices"
    for path in ("/.well-known/oauth-authorization-server", "/authorize", "/login"):
        assert (await visitor.get(path)).status_code == 404


async def test_token_opens_the_offices_of_its_claims(provider: OpenIDProvider, visitor: Visitor) -> None:
    assert (await visitor.use(provider.token(), "acme")).status_code == 200
    answer = await visitor.use(provider.token(), "other")
    assert (answer.status_code, challenge(answer)["error"]) == (403, "insufficient_scope")
    answer = await visitor.use(provider.token(exp=1), "acme")
    assert (answer.status_code, challenge(answer)["error_description"]) == (401, "the token has expired: log in again")
    assert (await visitor.use(provider.token(roles=["computer"]), "acme")).status_code == 403


async def test_socketio_clients_may_use_tokens(provider: OpenIDProvider) -> None:
    checks = CredentialAuthenticationProvider(provider.verifier())
    with running("async", checks) as server:
        async with crowd(server) as people:
            computer = await people.newcomer(auth={"token": provider.token(roles=["computer"])})
            assert (await computer.join("computer", "pc", "acme"))[0] is True
            agent = await people.newcomer(headers={"authorization": f"Bearer {provider.token()}"})
            assert (await agent.join("agent", "ann", "acme"))[0] is True


def test_settings_make_a_verifier_with_rules(tmp_path: Path) -> None:
    file = tmp_path / "grants.toml"
    file.write_text('[[oidc_grants]]\nclaim = "groups"\nvalue = "a"\noffices = ["x"]\n')
    settings = ServerSettings.load({"oidc_issuer": "https://a.example", "oidc_audience": "b", "oidc_grants": file})
    settings.check_logins()
    assert [rule.claim for rule in settings.claim_rules()] == ["groups"]
    provider = settings.auth_provider()
    assert isinstance(provider, CredentialAuthenticationProvider)
    [verifier] = provider.async_verifiers
    assert isinstance(verifier, OpenIDVerifier)
    file.write_text('[[oidc_grants]]\nclaim = "groups"\n')
    with pytest.raises(ValueError, match=r"oidc_grants\[1\]: offices"):
        settings.check_logins()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"oidc_issuer": "https://a.example"}, "--oidc-audience"),
        ({"oidc_audience": "a"}, "--oidc-issuer"),
        ({"public_url": "http://hub.example.com"}, "TLS"),
        ({"public_url": "hub.example.com"}, "public_url"),
        ({"public_url": "https://hub.example.com/?x=1"}, "public_url"),
    ],
)
def test_settings_that_do_not_go_together_are_rejected(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ServerSettings.load(given).check_logins()


def test_issuer_without_tls_is_rejected() -> None:
    with pytest.raises(ValueError, match="oidc_issuer"):
        OpenIDVerifier("http://login.example.com", "a")
