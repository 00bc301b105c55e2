"""Cleans the message and `data` of an MCP server's error before they leave the Computer.

Removed are secrets of this Computer, values whose names or forms look secret, connection strings, addresses of internal
machines and stack traces. Size and depth are limited.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, cast

import orjson

from a2c_smcp.computer.config.secrets import HIDDEN, hide, hide_in_text, looks_secret

MAX_BYTES = 16_384
MAX_READ = 16 * MAX_BYTES
"""Size of data that is searched for secrets. It limits the work for data from a server that is not trusted."""
MAX_DEPTH = 8

_TRACE_NAMES = frozenset(("traceback", "stack", "stacktrace", "stack_trace", "backtrace"))
# The stack traces of Python, of Java and JavaScript, and of Go.
_TRACE = re.compile(r"Traceback \(most recent call last\)|^\s+at [^\n]+[(:]\S*:\d+|^goroutine \d+ \[", re.MULTILINE)
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*)://([^\s/?#\"'<>]*)([^\s\"'<>]*)", re.IGNORECASE)
# The scheme of a database or directory: its URL is a connection string, and is removed as a whole.
_STORES = re.compile(
    r"(?:jdbc:.*|postgres(?:ql)?|mysql|mariadb|mssql|oracle|mongodb|rediss?|amqps?|ldaps?)", re.IGNORECASE
)
# The same in the style of ODBC and ADO: `Server=…;Uid=sa;Pwd=…`.
_ASSIGNED = re.compile(r"\b((?:password|passwd|pwd|user id|uid)\s*=\s*)[^;\s\"']+", re.IGNORECASE)
_IPV4 = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?![\w.])")
_IPV6 = re.compile(
    r"(?<![\w:])\[?([0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?:%\w+)?\]?(?::\d{1,5})?(?![\w:])", re.IGNORECASE
)
# Endings that are reserved or customary for internal networks. Apart from `localhost`, a host name without a dot cannot
# be told from an ordinary word.
_NAME = re.compile(
    r"(?<![\w.-])(?:localhost|[\w-]+(?:\.[\w-]+)*\.(?:local|localdomain|internal|intranet|lan|corp|home\.arpa))"
    r"(?::\d{1,5})?(?![\w-])",
    re.IGNORECASE,
)


def presentable(data: Any, redact: Callable[[str], str]) -> dict[str, Any]:
    """Error data as `details` of an error; `redact` removes the secrets of the Computer. Data that is no object gets
    the key `data`; data that is too large is replaced by a text."""
    try:
        size = len(orjson.dumps(data))
        details = _details(data, redact) if size <= MAX_READ else {}
        # Measured again: a stack trace that was removed may have been most of it.
        size = len(orjson.dumps(details)) if size <= MAX_READ else size
    except TypeError:
        return {}
    return details if size <= MAX_BYTES else {"data": f"{size} bytes of details are left out"}


def _details(data: Any, redact: Callable[[str], str]) -> dict[str, Any]:
    cleaned = _Cleaner(redact).clean(data, 0)
    if cleaned is None:
        return {}
    return cast("dict[str, Any]", cleaned) if isinstance(cleaned, dict) else {"data": cleaned}


def presentable_text(text: str, redact: Callable[[str], str]) -> str:
    """The message of an error, cleaned in the same way."""
    return _Cleaner(redact).clean(text, 0)


class _Cleaner:
    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def clean(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if depth >= MAX_DEPTH:
            return "…" if isinstance(value, dict | list) else value
        if isinstance(value, dict):
            named = cast("dict[Any, Any]", value)
            return {
                self._text(str(name)): self._named(str(name), part, depth)
                for name, part in named.items()
                if str(name).lower() not in _TRACE_NAMES
            }
        if isinstance(value, list):
            return [self.clean(part, depth + 1) for part in cast("list[Any]", value)]
        return value

    def _named(self, name: str, value: Any, depth: int) -> Any:
        # A number or a boolean under such a name is more often a count or a switch than a secret, and may explain the
        # error.
        is_secret = looks_secret(name) and isinstance(value, str | dict | list)
        return HIDDEN if is_secret else self.clean(value, depth + 1)

    def _text(self, text: str) -> str:
        # Before any pattern is applied: this limits the work for a text from a server that is not trusted.
        if len(text) > MAX_BYTES:
            return f"a text of {len(text)} characters is left out"
        # Exact secrets first, then what only looks like one: a pattern that cuts a secret in two would leave half of
        # it.
        text = hide_in_text(self._redact(text), hide)
        if _TRACE.search(text):
            return "a stack trace is left out"
        text = _URL.sub(_without_place, _ASSIGNED.sub(rf"\1{HIDDEN}", text))
        return _NAME.sub(HIDDEN, _IPV6.sub(_unless_public, _IPV4.sub(_unless_public, text)))


def _without_place(url: re.Match[str]) -> str:
    """A URL without its host, if it names a database, a user or a machine in an internal network."""
    scheme, place, rest = url.groups()
    host = place.rpartition("@")[2]
    if _STORES.fullmatch(scheme) or "@" in place:
        return f"{scheme}://{HIDDEN}"
    shown = _NAME.sub(HIDDEN, _IPV6.sub(_unless_public, _IPV4.sub(_unless_public, host)))
    return f"{scheme}://{shown}{rest}"


def _unless_public(address: re.Match[str]) -> str:
    try:
        return address[0] if ipaddress.ip_address(address[1]).is_global else HIDDEN
    except ValueError:  # a version number, a time
        return address[0]
