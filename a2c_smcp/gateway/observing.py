"""What is known about the requests of hosts afterwards: a line in the log, and a count, each with the user behind the
host. To the Server, all of them are requests of one Agent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import CallNext, ServerRequestContext
from mcp.shared.exceptions import MCPError

from a2c_smcp.gateway.request_scope import principal_of
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

Observe: TypeAlias = Callable[[str, str, str], None]
"""Counts a request: of which user, its method, and its outcome: `ok`, or the code of an error."""

_LONGEST = 100
"""Characters of a name in the log."""
_QUIET = ("ping",)


class Observing:
    """A middleware of MCP's server that notes each request to an office."""

    def __init__(self, office_id: str, observe: Observe | None) -> None:
        self._office_id = office_id
        self._observe = observe

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Pass a request on, and note its outcome."""
        principal = principal_of(ctx)
        if principal is None or ctx.request_id is None or ctx.method in _QUIET:
            return await call_next(ctx)
        began, outcome = time.monotonic(), "cancelled"
        try:
            result = await call_next(ctx)
            outcome = _outcome(result)
            return result
        except MCPError as error:
            if error.error.code != types.CONNECTION_CLOSED:
                outcome = _code(error.error.data, error.error.code)
            raise
        except Exception:
            outcome = "500"
            raise
        finally:
            if self._observe is not None:
                self._observe(principal, ctx.method, outcome)
            if logger.isEnabledFor(logging.DEBUG):
                who, office = one_line(principal, _LONGEST), one_line(self._office_id, _LONGEST)
                milliseconds = round(1_000 * (time.monotonic() - began), 1)
                logger.debug(
                    "%s for %s in office %s: %s, %g ms", ctx.method, who, office, outcome, milliseconds,
                    extra={"principal": who, "office": office, "method": ctx.method, "outcome": outcome},
                )  # fmt: skip


def _outcome(result: Any) -> str:
    match result:
        case {"isError": True, "_meta": {"error_code": int(code)}}:
            return str(code)
        case {"isError": True}:
            return "failed"
        case _:
            return "ok"


def _code(data: Any, code: int) -> str:
    """The protocol's code of an error, or else that of JSON-RPC."""
    match data:
        case {"code": int(ours)}:
            return str(ours)
        case _:
            return str(code)
