"""The programs for which people log in: registered ones, and those that describe themselves at a URL.

A registration is not stored. The id of a client has everything that it registered, and is checked again whenever it is
used. So any number of registrations takes no memory, and none is lost by a restart. The id is not signed: everybody can
register everything that passes the checks.
"""

from __future__ import annotations

import base64
import json
import time
from collections import OrderedDict
from typing import Annotated
from urllib.parse import urlsplit

from annotated_types import Len
from mcp.server.auth.provider import RegistrationError
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull
from pydantic import AnyUrl, TypeAdapter, ValidationError

from a2c_smcp.server.fetching import FetchError, fetch_json, is_public
from a2c_smcp.server.public_url import is_loopback
from a2c_smcp.utils.text import one_line

CLIENT_PREFIX = "a2c_client_"
GRANT_TYPES = ["authorization_code", "refresh_token"]
MOST_URIS = 10
MOST_URI = 500
MOST_NAME = 80
DOCUMENT_SECONDS = 5.0
DOCUMENT_BYTES = 20_000
FRESH_SECONDS = 600.0
MOST_DOCUMENTS = 200
FETCHES_AT_ONCE = 16
# Schemes that a browser runs, or opens without another program.
_NO_CLIENTS = frozenset(
    ("javascript", "data", "vbscript", "file", "about", "blob", "ftp", "ws", "wss", "view-source", "filesystem")
)


_TEXTS = TypeAdapter(Annotated[list[str], Len(1, MOST_URIS + 1)])


class ClientRejected(Exception):
    """A client cannot be used; the message says why."""


class Client(OAuthClientInformationFull):
    """A client without a secret: its codes are protected with PKCE."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """The redirect URI of a request. It is one of the client, except for the port of a loopback address, which a
        program on the user's machine does not know before (RFC 8252)."""
        if redirect_uri is None:
            return super().validate_redirect_uri(None)
        if _without_loopback_port(redirect_uri) in {_without_loopback_port(uri) for uri in self.redirect_uris or ()}:
            return redirect_uri
        raise InvalidRedirectUriError(f"{redirect_uri} is not a redirect URI of this client")

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """All logins have the same scope; others that a client asks for are ignored."""
        return []


def client_without_metadata(client_id: str) -> Client:
    """A client at the token endpoint: its codes and tokens say the rest."""
    return Client(client_id=client_id, token_endpoint_auth_method="none", grant_types=GRANT_TYPES)


class Clients:
    """Finds clients by their ids."""

    def __init__(self) -> None:
        self._documents: OrderedDict[str, tuple[float, Client]] = OrderedDict()
        self._fetching = 0

    def register(self, asked: OAuthClientInformationFull) -> None:
        """Give a client its id, and register it without a secret.

        Raises:
            RegistrationError: its metadata cannot be used.
        """
        try:
            uris = _read_uris(asked.redirect_uris)
        except ClientRejected as problem:
            raise RegistrationError("invalid_redirect_uri", str(problem)) from None
        name = one_line(asked.client_name or "", MOST_NAME)
        text = json.dumps([name, *uris], separators=(",", ":"))
        asked.client_id = CLIENT_PREFIX + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        # Whoever can register can also read the secret that the registration returns: it would prove nothing.
        asked.token_endpoint_auth_method = "none"
        asked.client_secret = asked.client_secret_expires_at = None
        asked.grant_types = GRANT_TYPES

    async def find(self, client_id: str, *, is_local: bool) -> Client:
        """The client with an id. `is_local` allows one that describes itself on this machine.

        Raises:
            ClientRejected: there is none.
        """
        if client_id.startswith(("https://", "http://")):
            return await self._describe(client_id, is_local)
        try:
            text = client_id.removeprefix(CLIENT_PREFIX)
            name, *uris = _TEXTS.validate_json(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            return _client(client_id, one_line(name, MOST_NAME), _read_uris([AnyUrl(uri) for uri in uris]))
        except ValueError:
            raise ClientRejected("the client is not registered at this Server: let it register again") from None

    async def _describe(self, url: str, is_local: bool) -> Client:
        _check_document_url(url, is_local)
        if (known := self._documents.get(url)) is not None and known[0] > time.monotonic():
            self._documents.move_to_end(url)
            return known[1]
        if self._fetching >= FETCHES_AT_ONCE:
            raise ClientRejected("too many clients are being looked up: try again")
        self._fetching += 1
        try:
            found = await fetch_json(
                url,
                seconds=DOCUMENT_SECONDS,
                most=DOCUMENT_BYTES,
                is_allowed=lambda address: is_public(address) or (is_local and address.is_loopback),
            )
        except FetchError as error:
            raise ClientRejected(f"the client's description cannot be read: {error}") from None
        finally:
            self._fetching -= 1
        if found.get("client_id") != url:
            raise ClientRejected(f"{url} describes another client")
        if found.get("token_endpoint_auth_method", "none") != "none":
            raise ClientRejected(f"{url} asks for a way to authenticate that is not supported")
        try:
            described = OAuthClientInformationFull.model_validate(found)
        except ValidationError:
            raise ClientRejected(f"{url} is not the description of a client") from None
        name = one_line(described.client_name or "", MOST_NAME)
        client = _client(url, name, _read_uris(described.redirect_uris))
        self._documents[url] = time.monotonic() + FRESH_SECONDS, client
        if len(self._documents) > MOST_DOCUMENTS:
            self._documents.popitem(last=False)
        return client


def _client(client_id: str, name: str, uris: list[str]) -> Client:
    client = client_without_metadata(client_id)
    client.client_name = name or None
    client.redirect_uris = [AnyUrl(uri) for uri in uris]
    return client


def _check_document_url(url: str, is_local: bool) -> None:
    """Check the URL of a description, before anything is fetched.

    Raises:
        ClientRejected: it cannot be one.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ClientRejected("the id of the client is not a URL") from None
    is_own = is_local and is_loopback(host)
    has_place = parts.path not in ("", "/") and not {".", ".."} & set(parts.path.split("/"))
    if len(url) > MOST_URI or "@" in parts.netloc or parts.fragment or not has_place or not host:
        raise ClientRejected(f"{one_line(url, MOST_URI)} is not the URL of a client's description")
    if parts.scheme != "https" and not is_own:
        raise ClientRejected(f"{url}: a client's description needs https")


def _read_uris(given: list[AnyUrl] | None) -> list[str]:
    """The redirect URIs of a client.

    Raises:
        ClientRejected: one of them cannot be used.
    """
    uris = [str(uri) for uri in given or ()]
    if not 0 < len(uris) <= MOST_URIS:
        raise ClientRejected(f"1 to {MOST_URIS} redirect URIs are expected")
    for uri in uris:
        parts = urlsplit(uri)
        if len(uri) > MOST_URI or parts.fragment or "@" in parts.netloc or parts.scheme in _NO_CLIENTS:
            raise ClientRejected(f"{one_line(uri, MOST_URI)} cannot be a redirect URI")
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise ClientRejected(f"{uri}: a redirect URI needs https, except on this machine")
    return uris


def _without_loopback_port(uri: AnyUrl) -> str:
    parts = urlsplit(str(uri))
    if parts.scheme == "http" and is_loopback(parts.hostname or ""):
        return parts._replace(netloc=parts.hostname or "").geturl()
    return str(uri)
