"""A call that waits for approval: what is approved, as a digest, and what was decided about it.

The digest covers everything that the owner sees and that decides what will run: the MCP server, the tool, its
definition and the arguments. The call is compared with it once more before it runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from a2c_smcp.computer.config.model import BaseServerConfig
from a2c_smcp.computer.hosting.host import runs_the_same
from a2c_smcp.computer.offer.confirmation import CallToConfirm
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.errors import MalformedRequestError, SMCPError
from a2c_smcp.utils.tool_meta import A2C_TOOL_META

KEPT_CHARACTERS = 16_000
"""Arguments that are larger are not kept after the end."""


class Decision(StrEnum):
    """What the owner decides about a call."""

    DENY = "deny"
    ALLOW = "allow"
    """This call."""
    HOUR = "hour"
    """This call, and all calls of the tool for an hour."""
    SESSION = "session"
    """This call, and all calls of the tool until the Computer stops."""
    ALWAYS = "always"
    """This call, and all calls of the tool, by a rule in the configuration file."""

    @property
    def allows(self) -> bool:
        """Whether the call may run."""
        return self is not Decision.DENY


class Outcome(StrEnum):
    """What became of a call that waited for approval."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first decision about a request."""

    decision: Decision
    by: str
    """The channel that decided, in words: `the prompt`."""
    reason: str | None = None
    """What the owner says about a denial."""
    error: SMCPError | None = None
    """The error that the Agent gets instead of the usual one."""


@dataclass(eq=False)
class ApprovalRequest:
    """One call that waits. It exists only in memory: after a restart, nothing waits and nothing is approved."""

    req_id: str
    entry: Entry
    tool: str
    """The name that the Agent calls."""
    parameters: dict[str, Any] | None
    """The arguments; None after the end if they are large."""
    call: CallToConfirm
    config: BaseServerConfig | None
    """The configuration of its MCP server."""
    digest: str = field(init=False)
    definition: str = field(init=False)
    """The digest of the tool, without the arguments."""
    size: int = field(init=False)
    """Characters of the arguments as JSON."""
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    requested: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = field(default=None, init=False)
    outcome: Outcome = field(default=Outcome.WAITING, init=False)
    verdict: Verdict | None = field(default=None, init=False)
    decided: asyncio.Future[Verdict] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.definition = definition_digest(self.tool, self.entry)
        text = _text(self.parameters)
        self.digest, self.size = _hash(f"{self.definition}{text}"), len(text)
        self.decided = asyncio.get_running_loop().create_future()

    @property
    def is_waiting(self) -> bool:
        """Whether it can still be decided: nobody has, and the call has not timed out."""
        seconds = self.call.remaining()
        return not self.decided.done() and (seconds is None or seconds > 0)

    def is_for(self, entry: Entry, config: BaseServerConfig | None) -> bool:
        """Whether this tool of this MCP server is the one that the owner sees."""
        return runs_as(self.config, config) and definition_digest(self.tool, entry) == self.definition

    def settle(self, verdict: Verdict) -> bool:
        """Take this verdict, if it is the first; whether it is."""
        if self.decided.done():
            return False
        self.verdict = verdict
        self.decided.set_result(verdict)
        return True

    def end(self, outcome: Outcome) -> None:
        """The call goes on, or ends."""
        self.outcome, self.ended = outcome, datetime.now(UTC)
        if self.size > KEPT_CHARACTERS:
            self.parameters = None
        if not self.decided.done():
            self.decided.cancel()


def runs_as(old: BaseServerConfig | None, new: BaseServerConfig | None) -> bool:
    """Whether two configurations start the same program, or lead to the same address."""
    # By what it runs, not by name: another program under the same name is another server.
    return old is new or (old is not None and new is not None and runs_the_same(old, new))


def definition_digest(tool: str, entry: Entry) -> str:
    """A digest of a tool: its server, its names, and how both the server and the owner describe it."""
    described = dict(entry.tool)
    meta = dict(entry.tool.get("meta") or {})
    # The permission itself is left out. Otherwise "always" for one call would withdraw the others that wait for the
    # same tool, and the call that it was given for.
    meta.pop(A2C_TOOL_META, None)
    described["meta"] = meta
    settings = entry.meta.model_dump(mode="json", exclude={"auto_apply"})
    return _hash(_text([entry.server, entry.original_name, tool, described, settings]))


def call_digest(definition: str, parameters: Mapping[str, Any]) -> str:
    """A digest of a call: that of its tool, and its arguments.

    Raises:
        MalformedRequestError: the arguments cannot be written as JSON.
    """
    return _hash(f"{definition}{_text(parameters)}")


def _text(value: Any) -> str:
    # The standard library's writer, not orjson: it writes integers of any size, and a call with such an argument runs.
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise MalformedRequestError("params: cannot be written as JSON, so nobody can approve them") from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()
