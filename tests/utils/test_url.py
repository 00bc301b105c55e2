"""Addresses to connect to: their check, and the office in their query."""

from __future__ import annotations

import pytest

from a2c_smcp.utils.url import OF_MCP_SERVERS, check_url, with_parameters


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000),
        ("https://example.org", "example.org", None),
        ("ws://example.org/path?query", "example.org", None),
        ("wss://user:password@[::1]:443/", "::1", 443),
    ],
)
def test_an_address_gives_its_host_and_port(url: str, host: str, port: int | None) -> None:
    parts = check_url(url)
    assert (parts.hostname, parts.port) == (host, port)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "localhost:8000",
        "ftp://example.org",
        "http:example.org",
        "http:/example.org",
        "http://",
        "http:///path",
        "http://:8000",
        "http://host:port",
        "http://host:99999",
        "http://host:0",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match=r"must start with|has no"):
        check_url(url)


def test_schemes_can_be_limited() -> None:
    with pytest.raises(ValueError, match="must start with http:// or https://"):
        check_url("ws://example.org", OF_MCP_SERVERS)


@pytest.mark.parametrize(
    ("url", "office", "expected"),
    [
        ("http://host", "acme", "http://host?office=acme"),
        ("http://host/?tenant=7&v=%00", "acme", "http://host/?tenant=7&v=%00&office=acme"),
        ("http://host/?office=mine", "acme", "http://host/?office=mine"),
        ("http://host/?office=", "acme", "http://host/?office="),
        ("http://host", "a&b=c #1", "http://host?office=a%26b%3Dc%20%231"),
        ("http://host", None, "http://host"),
        ("http://host", "", "http://host"),
    ],
)
def test_a_url_names_an_office_once(url: str, office: str | None, expected: str) -> None:
    assert with_parameters(url, {"office": office}) == expected
