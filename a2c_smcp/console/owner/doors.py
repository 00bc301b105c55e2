"""Who may use the API of a Computer: its owner, who is known by the socket, or by a token."""

from __future__ import annotations

import hmac

from starlette.requests import Request

from a2c_smcp.console.web.users import User
from a2c_smcp.errors import NotAuthenticatedError
from a2c_smcp.protocol.grants import Grant

OWNER = User("owner", Grant(admin=True), reference="owner")


class SocketDoor:
    """Everybody who reaches the socket is the owner: nobody else can enter its folder."""

    def has_credential(self, request: Request) -> bool:
        """No: the socket is enough."""
        return False

    async def recognise(self, request: Request) -> User | None:
        """The owner."""
        return OWNER

    async def admit(self, request: Request, key: str) -> User:
        """The owner."""
        return OWNER

    def restore(self, reference: str) -> User | None:
        """The owner."""
        return OWNER


class TokenDoor:
    """The owner has the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def has_credential(self, request: Request) -> bool:
        """Whether the request has a token, valid or not."""
        return "authorization" in request.headers or "x-api-key" in request.headers

    async def recognise(self, request: Request) -> User | None:
        """The owner, if the request has the token as a bearer token or an API key."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self.admit(request, given.strip())
        key = request.headers.get("x-api-key")
        return await self.admit(request, key) if key is not None else None

    async def admit(self, request: Request, key: str) -> User:
        """The owner.

        Raises:
            NotAuthenticatedError: it is not the token.
        """
        if not hmac.compare_digest(key.encode("utf-8", "replace"), self._token):
            raise NotAuthenticatedError("the token is not accepted")
        return OWNER

    def restore(self, reference: str) -> User | None:
        """The owner, if the session was theirs."""
        return OWNER if reference == OWNER.reference else None
