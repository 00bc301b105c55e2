"""Authentication providers: they accept or reject a connection; what its credential allows is enforced at each join.

Each provider exists for the async and for the sync Server. The checks are written once, in `credentials.py`.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from a2c_smcp.errors import NotAuthenticatedError
from a2c_smcp.protocol.grants import EVERYTHING, Grant
from a2c_smcp.server.credentials import AsyncVerifier, LastingVerifier, SharedSecret, Verifier
from a2c_smcp.server.setting_definitions import SettingDefinitions

logger = logging.getLogger(__name__)

Headers: TypeAlias = list[tuple[bytes, bytes]]
DEFAULT_API_KEY_NAME = SettingDefinitions.api_key_header
ACCESS_TOKEN = "access_token"
"""The header of official clients from 0.1.5 to 0.2.1."""
RESOURCE = "a2c.resource"
"""The entry of `environ` with the URL that a request of an MCP host is for."""


class AuthenticationProvider(ABC):
    """Decides which clients may connect. A `SyncAuthenticationProvider` does so for the Server in threads."""

    @abstractmethod
    async def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        """Return whether the client may connect. `headers` are the HTTP headers, as pairs of bytes."""

    async def grant(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        """Return what the client may join; None rejects the connection. Override it to allow less than everything.

        Raises:
            NotAuthenticatedError, ForbiddenError: the connection is rejected, and the client receives the message.
        """
        return EVERYTHING if await self.authenticate(sio, environ, auth, headers) else None


class SyncAuthenticationProvider(ABC):
    """Decides which clients may connect, for the sync Server."""

    @abstractmethod
    def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        """Return whether the client may connect. `headers` are the HTTP headers, as pairs of bytes."""

    def grant(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        """Return what the client may join; None rejects the connection. Override it to allow less than everything.

        Raises:
            NotAuthenticatedError, ForbiddenError: the connection is rejected, and the client receives the message.
        """
        return EVERYTHING if self.authenticate(sio, environ, auth, headers) else None


class _Credentials:
    """Finds the credentials that a client presents, and has the verifiers check them."""

    def __init__(self, *verifiers: Verifier, api_key_name: str = DEFAULT_API_KEY_NAME) -> None:
        self.verifiers = verifiers
        # WSGI has no underscores in the names of headers, only dashes.
        names = (api_key_name, ACCESS_TOKEN)
        self._headers = frozenset(name.lower().replace("_", "-").encode() for name in names)
        self._auth_keys = dict.fromkeys((api_key_name, "token", "api_key", DEFAULT_API_KEY_NAME, ACCESS_TOKEN))

    def check(self, auth: Any, headers: Headers) -> Grant | None:
        """The grant of the first credential that is valid.

        Raises:
            NotAuthenticatedError: none is, and one was valid once.
        """
        problem: NotAuthenticatedError | None = None
        for credential in self._presented(auth, headers):
            for verifier in self.verifiers:
                try:
                    grant = verifier.verify(credential)
                # An expired key is remembered, not reported at once: the client may present a second credential, which
                # is valid.
                except NotAuthenticatedError as error:
                    problem = error
                    continue
                if grant is not None:
                    return grant
        if problem is not None:
            raise problem
        return None

    def has_credential(self, headers: Headers) -> bool:
        """Whether the headers of a request have a credential, valid or not."""
        return next(self._presented(None, headers), None) is not None

    def _presented(self, auth: Any, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[str]:
        # Both places: a browser cannot set headers on a WebSocket, and uses the `auth` object.
        for name, value in headers:
            name = name.lower().replace(b"_", b"-")
            if name in self._headers:
                yield value.decode("latin-1")
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                yield value[7:].decode("latin-1").strip()
        if isinstance(auth, dict):
            fields = cast("dict[str, Any]", auth)
            yield from (fields[key] for key in self._auth_keys if isinstance(fields.get(key), str))


class CredentialAuthenticationProvider(_Credentials, AuthenticationProvider):
    """Accepts a credential that one of its verifiers accepts, from one of the HTTP headers `api_key_name`,
    `access_token` and `Authorization: Bearer`, or from the Socket.IO `auth` object under `api_key_name`, `token`,
    `api_key`, `x-api-key` or `access_token`."""

    def __init__(self, *verifiers: Verifier | AsyncVerifier, api_key_name: str = DEFAULT_API_KEY_NAME) -> None:
        at_once = (verifier for verifier in verifiers if not isinstance(verifier, AsyncVerifier))
        super().__init__(*at_once, api_key_name=api_key_name)
        self.async_verifiers = tuple(verifier for verifier in verifiers if isinstance(verifier, AsyncVerifier))

    async def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        return await self._find(environ, auth, headers) is not None

    async def grant(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        if not self._is_extended:
            return await self._find(environ, auth, headers)
        if not await self.authenticate(sio, environ, auth, headers):
            return None
        return await self._find(environ, auth, headers) or EVERYTHING

    @property
    def lasting_verifiers(self) -> tuple[LastingVerifier, ...]:
        """The verifiers with whose credentials MCP hosts may log in.

        None if a subclass decides on its own: a login is checked without the request that the subclass wants to see.
        """
        if self._is_extended or type(self).grant is not CredentialAuthenticationProvider.grant:
            return ()
        return tuple(verifier for verifier in self.verifiers if isinstance(verifier, LastingVerifier))

    @property
    def _is_extended(self) -> bool:
        """Whether a subclass decides which clients may connect."""
        return type(self).authenticate is not CredentialAuthenticationProvider.authenticate

    async def _find(self, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        """The grant of the first credential that is valid.

        Raises:
            SMCPError: none is, and one of them tells why.
        """
        problem: NotAuthenticatedError | None = None
        try:
            if (grant := self.check(auth, headers)) is not None:
                return grant
        except NotAuthenticatedError as error:
            problem = error
        for credential in self._presented(auth, headers) if self.async_verifiers else ():
            for verifier in self.async_verifiers:
                try:
                    grant = await verifier.averify(credential, environ.get(RESOURCE))
                except NotAuthenticatedError as error:
                    problem = error
                    continue
                if grant is not None:
                    return grant
        if problem is not None:
            raise problem
        return None


class CredentialSyncAuthenticationProvider(_Credentials, SyncAuthenticationProvider):
    """`CredentialAuthenticationProvider` for the sync Server."""

    def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        return self.check(auth, headers) is not None

    def grant(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> Grant | None:
        if not self.authenticate(sio, environ, auth, headers):  # a subclass may override it
            return None
        return self.check(auth, headers) or EVERYTHING


class DefaultAuthenticationProvider(CredentialAuthenticationProvider):
    """One shared secret, for development. Without a secret every connection is rejected."""

    def __init__(self, admin_secret: str | None = None, api_key_name: str = DEFAULT_API_KEY_NAME) -> None:
        super().__init__(*_shared_secret(admin_secret), api_key_name=api_key_name)


class DefaultSyncAuthenticationProvider(CredentialSyncAuthenticationProvider):
    """`DefaultAuthenticationProvider` for the sync Server."""

    def __init__(self, admin_secret: str | None = None, api_key_name: str = DEFAULT_API_KEY_NAME) -> None:
        super().__init__(*_shared_secret(admin_secret), api_key_name=api_key_name)


class AnonymousAuthenticationProvider(AuthenticationProvider):
    """Accepts every client. Use it only for a Server that no other machine can reach."""

    async def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        return True


class AnonymousSyncAuthenticationProvider(SyncAuthenticationProvider):
    """`AnonymousAuthenticationProvider` for the sync Server."""

    def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: Headers) -> bool:
        return True


def _shared_secret(admin_secret: str | None) -> tuple[SharedSecret, ...]:
    if not admin_secret:
        logger.warning("no admin_secret is set: every connection will be rejected")
        return ()
    return (SharedSecret(admin_secret),)
