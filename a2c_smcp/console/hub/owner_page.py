"""The way from the console of `a2c up` to the owner's page of its Computer.

The owner's page stays where it is: on loopback, at a port of its own, with a login of its own. Whoever logged in with
the address that `a2c up` printed owns the Computer as well, and gets an address that is valid for one login there. No
other user of a console gets one, and no other machine. The logins there end when that person logs out of the console.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse

from a2c_smcp.console.hub.door import ONE_TIME, is_forwarded
from a2c_smcp.console.web.operations import Page
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.errors import ForbiddenError, NotConnectedError
from a2c_smcp.server.one_time import ComputerPage
from a2c_smcp.server.public_url import is_loopback


def owner_page(page: ComputerPage) -> Page:
    """The entry of the navigation."""

    async def lead(asked: Asked) -> RedirectResponse:
        if asked.sender.reference != ONE_TIME:
            raise ForbiddenError("log in with the address that `a2c up` prints to open the page of its Computer")
        if not _is_of_this_machine(asked.request):
            raise ForbiddenError("the page of the Computer opens only in a browser on the machine that runs `a2c up`")
        url = page.login_url()
        if url is None:
            raise NotConnectedError("the Computer is starting: try again in a moment")
        return RedirectResponse(url, 303, {"Cache-Control": "no-store"})

    return Page("/computer", "", "Computer", handler=lead)


def _is_of_this_machine(request: Request) -> bool:
    """Whether a browser on this machine sends a request: on loopback, or from the address that it connects to."""
    client, server = request.client, request.scope.get("server")
    if client is None or is_forwarded(request):
        return False
    return is_loopback(client.host) or (server is not None and client.host == server[0])
