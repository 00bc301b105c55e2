"""The dialect of a client, by the query of its handshake, and the versions that an operator allows."""

from __future__ import annotations

import pytest

from a2c_smcp.errors import MalformedRequestError, VersionRefusedError
from a2c_smcp.protocol.dialects.recognition import SILENT, recognise
from a2c_smcp.protocol.dialects.versions import AllowedVersions, refusal_body


@pytest.mark.parametrize(
    ("query", "dialect", "version"),
    [
        ("", "plain", None),
        ("EIO=4&transport=polling", "plain", None),
        ("a2c_version=0.1.6", "plain", "0.1.6"),
        ("a2c_version=0.0.9", "plain", "0.0.9"),
        ("a2c_version=0.2.0&EIO=4", "0.2", "0.2.0"),
        ("EIO=4&a2c_version=0.3.1", "0.3", "0.3.1"),
        ("EIO=4&a2c_version=0.3.0", "0.3.0", "0.3.0"),
        ("a2c_version=0.4.0", "0.4", "0.4.0"),
        ("a2c_version=0.5.0", "0.5", "0.5.0"),
        ("a2c_version=0.17.3", "0.5", "0.17.3"),
        ("a2c_version=1.0.0", "0.5", "1.0.0"),
        ("a2c_version=0.4.0&a2c_version=0.2.0", "0.4", "0.4.0"),
        ("a2c_version=", "plain", None),
        ("a2c_version=0.4", "plain", None),
        ("a2c_version=0.4.0.0", "plain", None),
        ("a2c_version=v0.4.0", "plain", None),
        ("a2c_version=0.04.0", "plain", None),
        ("a2c_version=0.%D9%A4.0", "plain", None),
        ("a2c_version=0.4.0%0A", "plain", None),
        ("a2c_version=9999999999.0.0", "plain", None),
        ("a2c_stack=0.7.1", "s", "0.7.1"),
        ("a2c_stack=0.7.1&a2c_version=0.4.0", "s", "0.7.1"),
        ("a2c_version=0.2.0&a2c_stack=0.8.0.dev1%2Blocal", "s", "0.8.0.dev1+local"),
        ("a2c_stack=two+words", "s", None),
        ("a2c_stack=", "plain", None),
        ("a2c_stack=&a2c_version=0.4.0", "0.4", "0.4.0"),
        ("&".join(f"x{number}=a2c_version" for number in range(200)), "plain", None),
    ],
)
def test_the_query_says_which_dialect_it_is(query: str, dialect: str, version: str | None) -> None:
    greeting = recognise(query)
    assert (greeting.dialect.name, greeting.version) == (dialect, version)
    assert (greeting.stack is None) is (dialect != "s")


def test_a_client_that_says_nothing_costs_nothing() -> None:
    assert recognise("EIO=4&transport=websocket&t=abc") is SILENT


@pytest.mark.parametrize(
    ("query", "user_agent", "dialect"),
    [
        ("transport=polling&EIO=4", "Python/3.11 aiohttp/3.9.1", "0.1"),
        ("transport=polling&EIO=4&a2c_version=0.1.6", "Python/3.11 aiohttp/3.9.1", "0.1"),
        ("transport=websocket&EIO=4", "Python/3.11 aiohttp/3.9.1", "plain"),
        ("transport=polling&EIO=4", "python-requests/2.31.0", "plain"),
        ("transport=polling&EIO=4", "node-XMLHttpRequest", "plain"),
        ("transport=polling&EIO=4&a2c_stack=0.7.1", "Python/3.11 aiohttp/3.9.1", "s"),
        ("transport=polling&EIO=4&a2c_version=0.4.0", "Python/3.11 aiohttp/3.9.1", "0.4"),
    ],
)
def test_a_client_without_a_version_whose_websocket_has_a_limit_is_recognised(
    query: str, user_agent: str, dialect: str
) -> None:
    assert recognise(query, user_agent).dialect.name == dialect


@pytest.mark.parametrize(
    ("version", "is_newer"), [("0.4.9", False), ("0.5.0", False), ("0.6.0", True), ("1.0.0", True)]
)
def test_a_version_that_this_project_does_not_know_is_seen(version: str, is_newer: bool) -> None:
    assert recognise(f"a2c_version={version}").is_newer is is_newer


@pytest.mark.parametrize(
    ("allowed", "accepted", "refused"),
    [
        ("0.4", ["0.4.0", "0.4.17"], ["0.3.1", "0.5.0", "1.4.0"]),
        ("0.2-0.4", ["0.2.0", "0.3.1", "0.4.0"], ["0.1.6", "0.5.0"]),
        (" 0.2 , 0.4 ", ["0.2.0", "0.4.0"], ["0.3.0", "0.1.0"]),
        ("0.1-0.2, 0.4-1.1", [None, "nonsense", "0.1.6", "0.2.0", "0.9.0", "1.0.0", "1.1.5"], ["0.3.0", "1.2.0"]),
    ],
)
def test_only_allowed_versions_pass(allowed: str, accepted: list[str | None], refused: list[str]) -> None:
    versions = AllowedVersions.parse(allowed)
    for version in accepted:
        versions.check(version)
    for version in refused:
        with pytest.raises(VersionRefusedError):
            versions.check(version)


def test_the_refusal_says_what_would_be_accepted() -> None:
    with pytest.raises(VersionRefusedError) as refused:
        AllowedVersions.parse("0.2, 0.4").check("0.3.1")
    body = refusal_body(refused.value)
    assert body.pop("message")
    assert body == {
        "code": 4008,
        "server_version": "0.4.0",
        "client_version": "0.3.1",
        "min_supported": "0.2.0",
        "max_supported": "0.4.999",
    }


@pytest.mark.parametrize("version", [None, "", "0.4", "x.y.z"])
def test_a_version_that_is_missing_or_unreadable_is_a_bad_request(version: str | None) -> None:
    with pytest.raises(MalformedRequestError) as refused:
        AllowedVersions.parse("0.4").check(version)
    assert refusal_body(refused.value).keys() == {"code", "message"}


@pytest.mark.parametrize("text", ["", "0", "0.4.0", "0.4-", "-", "0.4-0.2", "0.2-0.3-0.4", "0.4,", "latest", "0.٤"])
def test_a_mistake_of_the_operator_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        AllowedVersions.parse(text)
