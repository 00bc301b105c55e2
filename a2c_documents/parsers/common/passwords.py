"""The passwords that may be tried for the file that is opened now. They are never shown, logged or stored.

A parser of protected files tries the candidates in order, and raises what `refusal` makes if none of them opens it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from a2c_documents.model import UnreadableFileError

_candidates: ContextVar[tuple[str, ...]] = ContextVar("candidates", default=())


class PasswordNeededError(UnreadableFileError):
    """A file needs a password that its owner can provide."""


@contextmanager
def allowed(passwords: Sequence[str]) -> Generator[None]:
    """Let the parsers try these passwords."""
    token = _candidates.set(tuple(passwords))
    try:
        yield
    finally:
        _candidates.reset(token)


def candidates() -> tuple[str, ...]:
    """The passwords to try."""
    return _candidates.get()


def refusal(what: str) -> PasswordNeededError:
    """The error for a file that no candidate opens; `what` names the format."""
    given = "needs another password than those given" if candidates() else "needs a password"
    return PasswordNeededError(
        f"this {what} {given}; `a2c documents --config FILE` takes one for a file or folder from `passwords` in FILE"
    )
