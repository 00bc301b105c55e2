"""Which version an official Server has that checks none: a Computer finds out by requests to itself.

Such a Server says nowhere how it wants an answer to be written, and never passes on one that is written otherwise. But
it relays the requests of any member, and what comes back of an answer tells its version. Nobody else notices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from a2c_smcp import smcp
from a2c_smcp.errors import TimedOutError, UploadRefusedError
from a2c_smcp.protocol.client_effects import Ask, ClientBackend
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.requests import new_id

SECONDS = 1.5
"""How long an answer takes to come back, at most. One that the Server does not understand never does."""

_NAME: Final = "sample"
_SERVER: Final[Mapping[str, Any]] = {
    "name": _NAME,
    "bundle_id": _NAME,
    "type": "stdio",
    "disabled": False,
    "forbidden_tools": [],
    "tool_meta": {},
    "server_parameters": {
        "command": _NAME,
        "args": [],
        "env": None,
        "cwd": None,
        "encoding": "utf-8",
        "encoding_error_handler": "strict",
    },
}
_REFUSED: Final = {
    "code": UploadRefusedError.code,
    "message": "this is a trial",
    "details": {"reason": "forbidden"},
}


class Trial:
    """The requests of one Computer to itself."""

    def __init__(self, computer: str) -> None:
        self._computer = computer
        self._answers: dict[str, Any] = {}
        """The answer to each request, by its `req_id`, which nobody else knows."""

    def answer_to(self, request: Any) -> Any:
        """The answer to a request that arrived; None if it is not one of these."""
        req_id = cast("dict[str, Any]", request).get("req_id") if isinstance(request, dict) else None
        return self._answers.get(req_id) if isinstance(req_id, str) else None

    def run(self) -> Flow[ClientBackend, str | None]:
        """The dialect of the Server; None if it does not let a Computer send requests.

        Raises:
            NotConnectedError: the connection breaks.
        """
        # Every version passes this on. Up to 0.2, it removes the field that it does not know.
        entry = (yield from self._try_config()).get(_NAME)
        if entry is None:
            return None
        if "bundle_id" not in entry:
            return "0.2"
        if not (yield from self._try_config({"label": "a", "value": "a"})):
            # The Server may also be slow, so that silence alone proves nothing.
            return "0.3.0" if (yield from self._try_config("a")) else None
        upload = {"chunk_offset": 0, "eof": True, "blob": ""}
        return "0.4" if isinstance((yield from self._ask(smcp.PUT_BLOB_EVENT, _REFUSED, upload)), dict) else "0.3"

    def _try_config(self, option: Any = None) -> Flow[ClientBackend, dict[str, Any]]:
        """What comes back of the MCP servers in a configuration, with an input to choose from this option."""
        answer: dict[str, Any] = {"servers": {_NAME: _SERVER}}
        if option is not None:
            pick = {"id": _NAME, "type": "pickString", "description": _NAME, "options": [option], "default": "a"}
            answer["inputs"] = [pick]
        read = yield from self._ask(smcp.GET_CONFIG_EVENT, answer)
        servers = cast("dict[str, Any]", read).get("servers") if isinstance(read, dict) else None
        return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}

    def _ask(self, event: str, answer: Any, fields: Mapping[str, Any] | None = None) -> Flow[ClientBackend, Any]:
        """What comes back of an answer; None if nothing does."""
        req_id = new_id()
        self._answers[req_id] = answer
        try:
            # Not `requests.ask`: silence is no failure here, and not for the log.
            return (yield from Ask(event, {**self._request(req_id), **(fields or {})}, SECONDS))
        except TimedOutError:
            return None
        finally:
            del self._answers[req_id]

    def _request(self, req_id: str) -> smcp.AgentCallData:
        return smcp.AgentCallData(agent=self._computer, req_id=req_id, computer=self._computer)
