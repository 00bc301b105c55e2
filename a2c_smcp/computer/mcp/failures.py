"""How a connection to an MCP server fails, in words that a person can use."""

from __future__ import annotations

from typing import cast

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.oauth.demand import Demand

MAX_WORDS = 2_000
"""Characters of an error that are shown."""


class CannotStart(Exception):
    """The server cannot start as configured: another attempt would fail too."""


class ConnectionFailed(Exception):
    """A connection could not be opened, or broke. The message says why, in words that follow the server's name."""


class LoginNeeded(Exception):
    """The server rejects requests until somebody logs in."""

    def __init__(self, demand: Demand) -> None:
        super().__init__(demand.reason)
        self.demand = demand


def in_words(error: Exception, redact: Redact) -> str:
    """The error of a server as text without secrets; for a timeout, the text says that there was no answer."""
    return redact(str(error), MAX_WORDS) or "no answer in time"


def explain(error: BaseException, link: Link | None = None) -> str:
    """Why a connection failed, in words that follow the server's name. What the transport noticed comes first."""
    if link is not None and link.lost.done():
        return link.lost.result()
    # A task group of a transport wraps its errors. The first one is the cause, the others follow from it.
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MCPError):
        text = f"refused the handshake: {text}"
    elif isinstance(error, ValidationError):
        text = "answered the handshake with something that is no MCP"
    elif not isinstance(error, ConnectionError):
        text = f"cannot be reached: {text}"
    # An HTTP status explains more than the error of the session, but must not repeat it.
    said = text.partition(": ")[2] or text
    hint = link.hint if link is not None else None
    return f"{text} ({hint})" if hint and hint not in text and said not in hint else text
