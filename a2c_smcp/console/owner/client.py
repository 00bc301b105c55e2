"""Requests to the API of a Computer that runs, from another program of its owner."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

from a2c_smcp.console.owner.places import Place
from a2c_smcp.errors import NotConnectedError, SMCPError, from_payload

ANSWER_SECONDS = 90.0
"""For an answer. To restart an MCP server may take a minute."""
SILENT_SECONDS = 60.0
"""For the next event or heartbeat."""
API = "/api/v1"


def path_of(*parts: str) -> str:
    """A path of the API; each part may have any characters."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


class _Connection(http.client.HTTPConnection):
    def __init__(self, place: Place, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._place = place
        self._seconds = seconds

    def connect(self) -> None:
        self.sock: socket.socket = self._place.connect()
        self.sock.settimeout(self._seconds)


class OwnerClient:
    """The API of one Computer."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def get(self, path: str) -> Any:
        """Read something.

        Raises:
            SMCPError: the Computer rejects the request, or cannot be reached.
        """
        return self._send("GET", path)

    def post(self, path: str, data: Any = None) -> Any:
        """Change something; the errors are those of `get`."""
        return self._send("POST", path, data)

    def put(self, path: str, data: Any) -> Any:
        """Set something; the errors are those of `get`."""
        return self._send("PUT", path, data)

    def events(self, query: str) -> Iterator[tuple[str, Any]]:
        """The events of a stream, as kind and data, until the Computer stops; the errors are those of `get`."""
        with closing(_Connection(self.place, SILENT_SECONDS)) as connection:
            try:
                response = self._ask(connection, "GET", f"/events?{query}")
                kind = ""
                while line := response.readline():
                    name, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        yield kind, json.loads(value)
            except (OSError, http.client.HTTPException) as error:
                raise NotConnectedError(f"the Computer {self.place.name} does not answer: {error}") from None

    def _send(self, method: str, path: str, data: Any = None) -> Any:
        with closing(_Connection(self.place, ANSWER_SECONDS)) as connection:
            try:
                text = self._ask(connection, method, path, data).read()
            except (OSError, http.client.HTTPException) as error:
                raise NotConnectedError(f"the Computer {self.place.name} does not answer: {error}") from None
        return json.loads(text) if text else None

    def _ask(self, connection: _Connection, method: str, path: str, data: Any = None) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json"} if data is not None else {}
        if self.place.token is not None:
            headers["Authorization"] = f"Bearer {self.place.token}"
        connection.request(method, API + path, json.dumps(data) if data is not None else None, headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise _error(response)
        return response


def _error(response: http.client.HTTPResponse) -> SMCPError:
    try:
        error = from_payload(json.loads(response.read()))
    except ValueError:
        error = None
    return error or NotConnectedError(f"the Computer answered HTTP {response.status}")
