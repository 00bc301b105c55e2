"""One log line for a request that failed, in the same form on the Agent, the Server and the Computer.

Each of them writes it once, so that the three lines of one request are found by its `req_id`.
"""

from __future__ import annotations

import logging
from typing import Any

from a2c_smcp.utils.text import one_line, printable

_LONGEST_NAME = 256
_LONGEST_REASON = 1_000


def log_failure(
    logger: logging.Logger,
    event: str,
    req_id: object,
    code: int | None,
    reason: str,
    *,
    level: int = logging.INFO,
    sender: str = "",
    **context: Any,
) -> None:
    """Log that a request failed. Text from a peer is escaped and cut; an id that is not a string is left out."""
    if not logger.isEnabledFor(level):
        return
    # The formatters of `a2c` escape line ends, but those of other programs need not: with a line end in the name of its
    # event, a client could write a log line of its own.
    event, reason = one_line(event, _LONGEST_NAME), printable(reason, _LONGEST_REASON).replace("\n", " ")
    if isinstance(req_id, str):
        context["req_id"] = one_line(req_id, _LONGEST_NAME)
    context |= {"event": event, "code": code}
    text = reason if code is None else f"{reason} ({code})"
    origin = f" from {one_line(sender)}" if sender else ""
    logger.log(level, "%s%s failed: %s", event or "an event without a name", origin, text, extra=context)
