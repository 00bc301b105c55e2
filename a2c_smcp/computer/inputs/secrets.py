"""Values that must not be seen, and how they are kept from being seen in what other programs say."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

SHORTEST = 4
"""A shorter value is taken out only where it stands alone: it would tear holes into every other word."""
HIDDEN = "•••"

_TALKATIVE = ("httpx2", "mcp.client.streamable_http", "mcp.client.sse", "asyncio", "client")
"""Loggers of libraries that write addresses and requests, which may hold a secret."""


class Secrets(logging.Filter):
    """The secrets of one Computer. As a log filter it takes them out of records."""

    def __init__(self) -> None:
        super().__init__()
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, value: object) -> None:
        """Hide this value from now on."""
        text = str(value)
        if not text.strip() or text in self._values:
            return
        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(self)  # once, however often it is added
        self._values.add(text)
        longest_first = sorted(self._values, key=len, reverse=True)
        self._pattern = re.compile(
            "|".join(re.escape(v) if len(v) >= SHORTEST else rf"(?<!\w){re.escape(v)}(?!\w)" for v in longest_first)
        )

    def redact(self, text: str) -> str:
        """The text without any secret."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def forget(self) -> None:
        """Stop watching the logs."""
        for name in _TALKATIVE:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record."""
        if self._pattern is not None:
            message = record.getMessage()
            redacted = self.redact(message)
            if redacted != message:
                record.msg, record.args = redacted, ()
        return True


_SECRET_NAME = re.compile(r"token|secret|passw|key|auth|credential|bearer|cookie|session|pat\b", re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Whether a variable or header of this name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


# -------------------------------------------------------------------------------- secrets that stand in a configuration
Replacement = Callable[[str, str], str]
"""`(name, value)` of a secret: what to write in its place."""

_SCHEME = re.compile(r"(?P<scheme>(?:Bearer|Basic|Token|ApiKey)\s+)(?P<value>\S.*)", re.IGNORECASE | re.DOTALL)
_FLAG = re.compile(r"(?P<flag>--?[A-Za-z][\w-]*)(?:=(?P<value>.*))?", re.DOTALL)


def replace_secrets(parameters: Mapping[str, Any], replacement: Replacement) -> dict[str, Any]:
    """Server parameters in which whatever looks like a secret in clear is replaced. Placeholders are not secrets.

    Looked at: environment variables and headers by their name, command line options such as `--api-key`, and the
    password and query of an address.
    """
    shown = dict(parameters)
    for field in ("env", "headers"):
        if isinstance(values := shown.get(field), Mapping):
            named = cast("Mapping[str, Any]", values)
            shown[field] = {name: _in_value(name, value, replacement) for name, value in named.items()}
    if isinstance(args := shown.get("args"), list):
        shown["args"] = _in_args(cast("list[Any]", args), replacement)
    if isinstance(url := shown.get("url"), str):
        shown["url"] = _in_url(url, replacement)
    return shown


def _in_value(name: str, value: Any, replacement: Replacement) -> Any:
    if not isinstance(value, str) or not value or "${" in value or not looks_secret(name):
        return value
    if found := _SCHEME.fullmatch(value):
        return found["scheme"] + replacement(name, found["value"])
    return replacement(name, value)


def _in_args(args: list[Any], replacement: Replacement) -> list[Any]:
    shown: list[Any] = []
    flag = ""
    for arg in args:
        found = _FLAG.fullmatch(arg) if isinstance(arg, str) else None
        if found is not None and found["value"] is not None:
            shown.append(f"{found['flag']}={_in_value(found['flag'], found['value'], replacement)}")
        elif found is None and flag:
            shown.append(_in_value(flag, arg, replacement))
        else:
            shown.append(arg)
        flag = found["flag"] if found is not None and found["value"] is None else ""
    return shown


def _in_url(url: str, replacement: Replacement) -> str:
    parts = urlsplit(url)
    netloc, query = parts.netloc, parts.query
    if parts.password and "${" not in parts.password:
        user, _, host = netloc.rpartition("@")
        netloc = f"{user.partition(':')[0]}:{replacement('password', parts.password)}@{host}"
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    query = "&".join(f"{name}{equals}{_in_value(name, value, replacement)}" for name, equals, value in pairs)
    return urlunsplit(parts._replace(netloc=netloc, query=query))
