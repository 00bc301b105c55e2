"""The addresses of resources behind an office."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl

from a2c_smcp.gateway.addresses import Address, parse

NAMES = st.text(min_size=1, max_size=20).filter(lambda text: text.encode("utf-8", "replace").decode() == text)


@given(NAMES, st.one_of(st.just(""), NAMES), NAMES)
def test_an_address_is_read_as_it_was_written(computer: str, server: str, uri: str) -> None:
    address = Address(computer, server, uri)
    assert parse(str(address)) == address


@pytest.mark.parametrize(
    ("address", "written"),
    [
        (Address("laptop", "docs", "dpe://docs/report"), "a2c://computer/laptop/docs/dpe://docs/report"),
        (Address("laptop", "", "window://x?priority=3"), "a2c://computer/laptop//window://x?priority=3"),
        (Address("Ann's PC", "a/b", "memo://1"), "a2c://computer/Ann%27s%20PC/a%2Fb/memo://1"),
        (Address("pc", "docs", "dpe://docs/{doc_ref}"), "a2c://computer/pc/docs/dpe://docs/{doc_ref}"),
    ],
)
def test_an_address_names_the_computer_and_the_server(address: Address, written: str) -> None:
    assert str(address) == written
    assert parse(written) == address


@pytest.mark.parametrize("address", [Address("Ann's PC", "s", "window://h/w?priority=3"), Address("电脑", "", "m://1")])
def test_a_host_that_normalises_addresses_does_not_change_ours(address: Address) -> None:
    assert parse(str(AnyUrl(str(address)))) == address


@pytest.mark.parametrize(
    "text",
    ["", "a2c://", "a2c://computer", "a2c://computer/", "a2c://computer/pc", "a2c://computer/pc/s", "a2c://computer//s/x",
     "a2c://computer/pc/s/", "window://x", "dpe://a2c://computer/pc/s/x", "A2C://computer/pc/s/x"],
)  # fmt: skip
def test_other_texts_are_no_addresses_of_ours(text: str) -> None:
    assert parse(text) is None
