"""What a call is told, and its owner, while an MCP server waits for a login."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2c_smcp.errors import LoginNeededError, LoginRefusedError

if TYPE_CHECKING:
    from a2c_smcp.computer.mcp.oauth.challenge import Challenge


@dataclass(frozen=True)
class Demand:
    """An MCP server rejects requests until somebody logs in."""

    challenge: Challenge
    reason: str
    """Why, in words that follow the name of the server."""
    is_refused: bool = False
    """Whether there was a login, and the server or its authorization server rejects it."""

    def error(self, server: str) -> LoginNeededError | LoginRefusedError:
        """The error of a call. The words of the server itself are not in it."""
        kind, outcome = LoginNeededError, "needs a login"
        if self.is_refused:
            kind, outcome = LoginRefusedError, "rejects the login"
        elif self.challenge.status == 403:
            outcome = "needs a login with further rights"
        message = f"The owner of this Computer must log in to the MCP server {server}: a2c computer login {server}"
        hint = {"action": "login", "message": message}
        # An Agent's model sees only the text of a result, and can tell its user.
        text = f"MCP server {server} {outcome}. {message}"
        return kind(text, details={"mcp_server": server, "auth_hint": hint})
