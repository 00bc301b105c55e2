"""Credentials under the names that each release uses, and the check of versions at connect."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.interop.meetings import FORMS
from tests.interop.places import Places
from tests.interop.seat import OURS, VERSIONS, SeatError
from tests.interop.steps import play
from tests.interop.table import Form, Table
from tests.support.waiting import PATIENCE

SECRET = "open sesame"
BRIEFLY = ("connect", "join", "list_the_members", "call_a_tool")
CHECKING = ("0.2.2", "0.3.3", "0.4.2")
"""Releases that know the version handshake."""


def of_computer(version: str) -> dict[str, Any]:
    """What a Computer of a release connects with, by the default of that release's Server."""
    names = {"0.1.3": {"headers": {"x-api-key": SECRET}}, "0.1.6": {"headers": {"access_token": SECRET}}}
    return names.get(version, {"auth": {"token": SECRET}})


def meet(table: Table, credentials: dict[str, Any]) -> dict[str, str]:
    table.credentials = credentials
    return play(table, only=BRIEFLY)


@pytest.mark.parametrize("agent_form", FORMS)
@pytest.mark.parametrize(
    ("version", "server_form"),
    [(version, form) for version in VERSIONS for form in FORMS if (version, form) != ("0.1.6", "sync")],
)
def test_official_clients_log_in_at_our_server_with_their_defaults(
    places: Places, version: str, agent_form: Form, server_form: Form
) -> None:
    """By default, 0.1.6 sends a header with an underscore, which web servers for WSGI drop."""
    url = places.ours(server_form, SECRET)
    with places.table(url, version, version, agent_form, {"api_key": SECRET}) as table:
        assert not meet(table, of_computer(version))


@pytest.mark.parametrize(
    ("server_form", "version", "option", "name"),
    [
        ("async", "0.1.3", "api_key_header", "access_token"),
        *((form, "0.1.6", "api_key_header", "x-api-key") for form in FORMS),
        *(
            (form, "0.4.2", "auth_field_name", name)
            for form in FORMS
            for name in ("api_key", "x-api-key", "access_token")
        ),
    ],
)
def test_our_server_takes_a_key_under_any_of_its_names(
    places: Places, server_form: Form, version: str, option: str, name: str
) -> None:
    url = places.ours(server_form, SECRET)
    where = "headers" if option == "api_key_header" else "auth"
    with places.table(url, version, version, login={"api_key": SECRET, option: name}) as table:
        assert not meet(table, {where: {name: SECRET}})


@pytest.mark.parametrize("version", [OURS, *VERSIONS])
def test_nobody_gets_in_with_a_wrong_key(places: Places, version: str) -> None:
    url = places.ours("async", SECRET)
    with places.table(url, version, version, login={"api_key": "wrong"}) as table:
        with pytest.raises(SeatError):
            table.ask("connect_to_server", url)
        with pytest.raises(SeatError):
            table.have("connect", url, auth={"token": "wrong"}, headers={"access_token": "wrong"})


@pytest.mark.parametrize("agent_form", FORMS)
@pytest.mark.parametrize("version", [each for each in VERSIONS if each != "0.1.3"])
def test_our_clients_log_in_at_an_official_server(places: Places, version: str, agent_form: Form) -> None:
    """The default provider of 0.1.3 finds no key, whoever sends one."""
    url = places.server(version, "async", SECRET)
    with places.table(url, OURS, OURS, agent_form, {"api_key": SECRET}) as table:
        table.ask("connect_to_server", url)
        table.ask("join_office", table.office, table.agent)
        table.computers.ask("enter", table.computer, url, table.office, SECRET).result(PATIENCE)
        assert not play(table, only=("list_the_members", "call_a_tool"))


# -------------------------------------------------------------------------------------------------------- the handshake


@pytest.mark.parametrize("server_form", FORMS)
@pytest.mark.parametrize("version", CHECKING)
def test_official_servers_that_check_versions_let_their_own_clients_in(
    places: Places, version: str, server_form: Form
) -> None:
    failures: dict[str, str] = {}
    for _ in range(2):  # a synchronous Server of 0.2.2 was seen to leave a join without an answer
        with places.table(places.server(version, server_form, checks=True), version, version) as table:
            failures = meet(table, {})
        if not failures:
            break
    assert not failures


@pytest.mark.parametrize("agent_form", FORMS)
@pytest.mark.parametrize("version", CHECKING)
def test_our_clients_get_in_where_versions_are_checked(places: Places, version: str, agent_form: Form) -> None:
    with places.table(places.server(version, "async", checks=True), OURS, OURS, agent_form) as table:
        assert not meet(table, {})


@pytest.mark.parametrize("agent_form", FORMS)
@pytest.mark.parametrize("version", ["0.2.2", "0.3.3"])
def test_an_official_server_tells_clients_of_another_version_so(places: Places, version: str, agent_form: Form) -> None:
    with places.table(places.server("0.4.2", "async", checks=True), version, version, agent_form) as table:
        assert_refused_for_its_version(table)


@pytest.mark.parametrize("server_form", FORMS)
@pytest.mark.parametrize("agent_form", FORMS)
@pytest.mark.parametrize("version", ["0.2.2", "0.3.3"])
def test_our_server_tells_clients_of_another_version_than_it_is_pinned_to_so(
    places: Places, version: str, agent_form: Form, server_form: Form
) -> None:
    with places.table(places.ours(server_form, versions="0.4"), version, version, agent_form) as table:
        assert_refused_for_its_version(table)


@pytest.mark.parametrize("version", ["0.1.3", "0.1.6"])
def test_our_pinned_server_refuses_clients_without_a_version(places: Places, version: str) -> None:
    with places.table(places.ours("async", versions="0.4"), version, version) as table:
        with pytest.raises(SeatError):
            table.ask("connect_to_server", table.url)
        with pytest.raises(SeatError):
            table.have("connect", table.url)


@pytest.mark.parametrize("server_form", FORMS)
@pytest.mark.parametrize("version", ["0.4.2", OURS])
def test_our_pinned_server_lets_clients_of_its_version_and_ours_in(
    places: Places, version: str, server_form: Form
) -> None:
    with places.table(places.ours(server_form, versions="0.4"), version, version) as table:
        assert not meet(table, {})


def assert_refused_for_its_version(table: Table) -> None:
    """The clients raise the typed error of their SDK."""
    for connect in (partial(table.ask, "connect_to_server"), partial(table.have, "connect")):
        # At every Server, asynchronous clients of the SDK read the answer too late now and then.
        attempts = refusals(partial(connect, table.url))
        error = next(each for each in attempts if each.kind != "RuntimeError")
        assert error.kind == "ProtocolVersionError"
        assert "server_version=0.4.0, min_supported=0.4.0, max_supported=0.4.999" in str(error)


def refusals(connect: Callable[[], Any]) -> Iterator[SeatError]:
    """The errors of one attempt after the other."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with pytest.raises(SeatError) as refused:
            connect()
        yield refused.value
