"""What `window://` and `dpe://` share: parsing and building URIs, strictly and in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HOST_END = re.compile("[/?#]")
_DIGITS = re.compile("[0-9]+")
_MAX_SIGNIFICANT_DIGITS = 18


@dataclass(frozen=True, slots=True)
class RawURI:
    """A URI in its parts: raw path segments, decoded query pairs in order. The fragment is dropped."""

    host: str
    segments: tuple[str, ...]
    query: dict[str, str]


def split_uri(raw: object, scheme: str) -> RawURI:
    """Take `raw` apart.

    Raises:
        ValueError: not a string, another scheme, no host, or a control character anywhere.
    """
    # Not `urllib.parse.urlsplit`: it converts hosts to lower case and removes tabs and line breaks, and two addresses
    # that differ must not become the same.
    prefix = scheme + "://"
    if not isinstance(raw, str) or not raw.startswith(prefix):
        raise ValueError(f"a {prefix} URI is expected")
    if _FORBIDDEN.search(raw):
        raise ValueError("a control character in the URI")
    rest = raw[len(prefix) :].partition("#")[0]
    rest, _, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    if not host or " " in host:
        raise ValueError("the host is missing" if not host else "a space in the host")
    return RawURI(host, tuple(path.split("/")) if slash else (), _parse_query(query))


def join_uri(scheme: str, host: str, segments: Iterable[str], query: Iterable[tuple[str, str]]) -> str:
    """Build a URI that `split_uri` takes apart into the same parts; segments and query are given decoded.

    Raises:
        ValueError: the host is empty or holds a delimiter, a segment is empty, or text is not encodable.
    """
    if not host or " " in host or _HOST_END.search(host) or _FORBIDDEN.search(host):
        raise ValueError(f"not a host: {host[:80]!r}")
    parts = [f"{scheme}://{host}"]
    for segment in segments:
        if not segment:
            raise ValueError("an empty path segment")
        parts.append("/" + quote(segment, safe=""))
    # A comma stays as it is: `categories` is a list, and people read addresses.
    pairs = "&".join(f"{quote(key, safe='')}={quote(value, safe=',')}" for key, value in query)
    return "".join(parts) + (f"?{pairs}" if pairs else "")


def decode(segment: str) -> str:
    """Percent-decode one path segment or query part."""
    return unquote(segment) if "%" in segment else segment


def parse_natural(text: str) -> int | None:
    """A non-negative integer in ASCII digits, or None. Rejects numbers of more than 18 significant digits."""
    # `int` alone also accepts `+1`, `1_0`, spaces and the digits of other scripts, and takes quadratic time for long
    # texts. 18 digits fit into 64 bits.
    if not _DIGITS.fullmatch(text):
        return None
    significant = text.lstrip("0")
    return int(significant or "0") if len(significant) <= _MAX_SIGNIFICANT_DIGITS else None


def _parse_query(query: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in query.split("&"):
        if part:
            key, _, value = part.partition("=")
            pairs.setdefault(decode(key), decode(value))  # the first of duplicate keys wins
    return pairs
