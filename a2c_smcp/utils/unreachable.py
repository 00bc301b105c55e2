"""Why a Server cannot be reached, in words for a person, from what HTTP and WebSocket libraries raise."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from a2c_smcp.utils.trust import why_untrusted

UNKNOWN_HOST = "unknown host"
REFUSED = "connection refused: nothing is listening there"
REASONS: Mapping[type[BaseException], str] = {socket.gaierror: UNKNOWN_HOST, ConnectionRefusedError: REFUSED}


def causes(error: BaseException | None) -> Generator[BaseException]:
    """An error, and the errors behind it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def why_unreachable(
    problems: Sequence[BaseException],
    ca_file: str | Path | None,
    reasons: Mapping[type[BaseException], str] = REASONS,
) -> tuple[str, BaseException]:
    """The reason why all attempts failed, and the error that shows it. Of the reasons, the first that occurs counts."""
    # The types of the errors and of their causes decide, because each library wraps them in messages of its own.
    chain = [error for problem in problems for error in causes(problem)]
    # aiohttp wraps the error in one of the same type, which does not have the reason.
    rejected = [error for error in chain if isinstance(error, ssl.SSLCertVerificationError)]
    untrusted = next((error for error in rejected if hasattr(error, "verify_code")), None)
    if untrusted is not None:
        return why_untrusted(untrusted, ca_file), untrusted
    for kind, words in reasons.items():
        found = next((error for error in chain if isinstance(error, kind)), None)
        if found is not None:
            return words, found
    return str(problems[-1]) or type(problems[-1]).__name__, problems[-1]
