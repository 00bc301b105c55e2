"""The way from the console of `a2c up` to the owner's page of its Computer: for whom it opens, and for whom not."""

from __future__ import annotations

import pytest

from a2c_smcp.console.hub.door import one_time_user
from a2c_smcp.console.hub.owner_page import owner_page
from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.login_tokens import LoginTokens
from a2c_smcp.console.web.operations import Kind
from a2c_smcp.console.web.site import Site
from a2c_smcp.console.web.users import User
from a2c_smcp.protocol.grants import Grant
from tests.console.site import KeyDoor
from tests.support.asgi import Visitor

pytestmark = pytest.mark.anyio

PAGE = "http://127.0.0.1:4711/console/login#token=t"


class Consoles:
    """A console with that entry in its navigation."""

    def __init__(self) -> None:
        self.url: str | None = PAGE
        self.tokens = LoginTokens()
        self.site = Site(
            Kind("console", "Server", (), (owner_page(self),)), Access("console", KeyDoor(), tokens=self.tokens)
        )

    def login_url(self) -> str | None:
        return self.url

    def log_out(self) -> None:
        raise NotImplementedError

    async def visitor(self, user: User | None = None, address: str = "127.0.0.1") -> Visitor:
        """Somebody who has logged in."""
        visitor = Visitor(self.site, address=address)
        assert (await visitor.log_in(token=self.tokens.mint(user or one_time_user()))).status == 200
        return visitor


async def test_the_owner_at_this_machine_gets_to_the_page_of_the_computer() -> None:
    consoles = Consoles()
    answer = await (await consoles.visitor()).get("/console/computer")
    assert (answer.status, answer.headers["location"]) == (303, PAGE)
    assert answer.headers["cache-control"] == "no-store"


async def test_another_operator_does_not_get_there() -> None:
    operator = await Consoles().visitor(User("ops", Grant(admin=True), "key:ops"))
    assert (await operator.get("/console/computer")).status == 403


async def test_another_machine_and_a_proxy_do_not_get_there() -> None:
    consoles = Consoles()
    assert (await (await consoles.visitor(address="203.0.113.7")).get("/console/computer")).status == 403
    assert (await (await consoles.visitor()).get("/console/computer", x_forwarded_for="203.0.113.7")).status == 403


async def test_without_a_login_it_leads_to_the_login() -> None:
    answer = await Visitor(Consoles().site, address="127.0.0.1").get("/console/computer")
    assert answer.headers["location"] == "/console/login?next=/console/computer"


async def test_while_the_computer_does_not_run_it_says_so() -> None:
    consoles = Consoles()
    visitor = await consoles.visitor()
    consoles.url = None
    assert (await visitor.get("/console/computer")).status == 503
