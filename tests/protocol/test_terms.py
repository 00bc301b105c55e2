"""What a client says of itself, and what it therefore knows of its Server."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp import __version__
from a2c_smcp.protocol.credentials import auth_with, headers_with
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.terms import DIALECT_OPTIONS, Terms, dialect_in, terms_of

OURS = ServerInfo("1", 5)


@pytest.mark.parametrize(
    ("option", "version", "stack"),
    [
        ("auto", "0.4.0", __version__),
        ("s", "0.4.0", __version__),
        ("0.1", None, None),
        ("0.2", "0.2.0", None),
        ("0.3.0", "0.3.0", None),
        ("0.3", "0.3.1", None),
        ("0.4", "0.4.0", None),
    ],
)
def test_the_query_of_each_dialect(option: str, version: str | None, stack: str | None) -> None:
    assert terms_of(option).query == {"a2c_version": version, "a2c_stack": stack}


def test_every_option_has_terms() -> None:
    assert [terms_of(option).is_pinned for option in DIALECT_OPTIONS] == [False, True, True, True, True, True, True]


@pytest.mark.parametrize("version", ["0.2.0", "0.3.9", "0.5.0"])
def test_a_demanded_version_is_named_as_the_server_names_it(version: str) -> None:
    terms = terms_of("auto").demanded(version)
    assert terms is not None
    assert (terms.version, terms.dialect, terms.empty_is_yes) == (version, version[:3], version == "0.5.0")
    assert terms.is_marked
    assert terms.demanded(version) is None, "a second attempt with the same version is pointless"


@pytest.mark.parametrize(
    "version", ["0.4.0", "0.4.9", "0.1.0", "0.6.0", "1.4.0", "0.4", "", "0.3.1\n", None, 4, ["0.3.1"]]
)
def test_no_other_version_is_tried(version: Any) -> None:
    assert terms_of("auto").demanded(version) is None


def test_a_program_that_chose_keeps_its_version() -> None:
    assert all(terms_of(option).demanded("0.3.1") is None for option in DIALECT_OPTIONS if option != "auto")


@pytest.mark.parametrize(
    ("terms", "info", "dialect"),
    [
        (terms_of("auto"), OURS, "s"),
        (terms_of("auto"), ServerInfo(), "official"),
        (terms_of("auto").demanded("0.3.1"), ServerInfo(), "0.3"),
        (terms_of("auto").demanded("0.3.1"), OURS, "s"),
        (terms_of("s"), ServerInfo(), "s"),
        (terms_of("0.1"), ServerInfo(), "0.1"),
        (terms_of("0.4"), OURS, "0.4"),
    ],
)
def test_what_is_known_of_a_server_that_let_the_client_in(terms: Terms, info: ServerInfo, dialect: str) -> None:
    learned = terms.learned(info)
    assert learned.dialect == dialect
    assert learned.is_official is (dialect != "s")
    assert learned.max_message_bytes == (info.max_message_bytes if dialect == "s" else 1_000_000)


def test_nothing_is_known_before_the_first_join() -> None:
    assert not ServerInfo().is_official
    assert not ServerInfo().passes_blobs


def test_the_own_session_tells_the_oldest_servers_apart() -> None:
    others = {"role": "computer", "name": "me", "a2c_version": "0.4.0"}
    assert dialect_in([others], "agent", "me") is None
    assert dialect_in([others, {"role": "agent", "name": "me"}], "agent", "me") == "0.1"
    assert dialect_in([others, {"role": "agent", "name": "me", "a2c_version": "0.4.0"}], "agent", "me") == "0.2+"


def test_a_server_of_the_release_that_differs_from_its_line_is_known_by_the_version_that_it_demands() -> None:
    terms = terms_of("auto").demanded("0.3.0")
    assert terms is not None
    assert terms.dialect == "0.3.0"


def test_a_key_has_every_name_that_a_server_may_expect() -> None:
    assert headers_with("k") == {"x-api-key": "k", "access_token": "k"}
    assert auth_with("k") == {"x-api-key": "k", "token": "k"}
    assert headers_with("k", "X-Own") == {"X-Own": "k", "x-api-key": "k", "access_token": "k"}
    assert auth_with("k", "Access_Token") == {"Access_Token": "k", "x-api-key": "k", "token": "k"}
    assert headers_with("k", "Access_Token") == {"Access_Token": "k", "x-api-key": "k"}


def test_a_header_with_a_scheme_is_the_only_one() -> None:
    assert (
        headers_with("Bearer k", "Authorization")
        == auth_with("Bearer k", "Authorization")
        == {"Authorization": "Bearer k"}
    )


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_nothing_is_sent(key: str | None) -> None:
    assert headers_with(key) == auth_with(key) == {}
