"""Secrets: how they are found in a configuration, and removed from texts and logs.

An MCP server may repeat a secret in an error or on its standard error, and not always literally: inside JSON, in a URL,
or as Base64 in a header. So each secret is removed in all these forms.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, cast
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

SHORTEST = 4
"""Shorter secrets are removed only where they are whole words. Otherwise a secret `a` would remove every a."""
LONG = 8
"""Shorter secrets are not searched for in Base64 or line by line: too many texts would match."""
HIDDEN = "•••"

_URL_SAFE = str.maketrans("+/", "-_")
_formatter = logging.Formatter()

# A filter must be added to each logger by name: a logger does not apply its filters to the records of its children.
_TALKATIVE = (
    "asyncio",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpx2",
    "mcp.client.auth.oauth2",
    "mcp.client.streamable_http",
)
"""Loggers of libraries that log URLs and requests, which may contain secrets."""


class Redact(Protocol):
    """`Secrets.redact` of a Computer."""

    def __call__(self, text: str, /, width: int | None = None) -> str:
        """The text without any secret; with a `width`, only its beginning."""
        ...


class Secrets(logging.Filter):
    """The secrets of one Computer. It is also a log filter that removes them from records."""

    def __init__(self) -> None:
        super().__init__()
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._longest = 0

    def add(self, value: object) -> None:
        """Remove this value from all texts from now on."""
        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(self)  # once, however often it is added
        forms = _forms(str(value))
        if not forms <= self._values:
            self._values |= forms
            self._compile()

    def discard(self, value: object) -> None:
        """Stop removing this value: it is no secret any more, such as a token that has been replaced."""
        self._values -= _forms(str(value))
        self._compile()

    def _compile(self) -> None:
        # The longest first: the pattern takes the first alternative that matches, and a secret may contain another.
        longest_first = sorted(self._values, key=len, reverse=True)
        choices = [re.escape(v) if len(v) >= SHORTEST else rf"(?<!\w){re.escape(v)}(?!\w)" for v in longest_first]
        self._pattern = re.compile("|".join(choices)) if choices else None
        self._longest = len(longest_first[0]) if longest_first else 0

    def redact(self, text: str, /, width: int | None = None) -> str:
        """The text without any secret; with a `width`, its first characters, for which the rest is not searched."""
        if self._pattern is None:
            return text if width is None else text[:width]
        if width is None or len(text) <= width:
            return self._pattern.sub(HIDDEN, text)[:width]
        # A text that is cut first may end with half of a secret, and one of many megabytes takes long to search. So it
        # is read only as far as it is shown: a secret that begins there ends within the longest one.
        shown: list[str] = []
        place = 0
        while width > 0:
            found = self._pattern.search(text, place, place + width + self._longest + 1)
            end = min(found.start() if found is not None else len(text), place + width)
            shown.append(text[place:end])
            width -= end - place
            if found is None or width <= 0:
                break
            shown.append(HIDDEN[:width])
            width -= len(HIDDEN)
            place = found.end()
        return "".join(shown)

    def forget(self) -> None:
        """Stop filtering the logs."""
        for name in _TALKATIVE:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record."""
        # The arguments must be formatted first: a secret may be split between the format and its arguments.
        if self._pattern is not None:
            message = record.getMessage()
            redacted = self.redact(message)
            if redacted != message:
                record.msg, record.args = redacted, ()
            if record.exc_info and not record.exc_text:  # formatters use this text, if there is one
                record.exc_text = self.redact(_formatter.formatException(record.exc_info))
        return True


def _forms(text: str) -> set[str]:
    """The forms of a secret in texts of other programs: its lines, and the secret in JSON, in a URL and in Base64."""
    forms: set[str] = set()
    for part in (text, *(line for line in text.splitlines() if len(line.strip()) >= LONG)):
        if part := part.strip() or text.strip():
            in_json = json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]
            forms.update((part, *in_json, quote(part), quote(part, ""), quote_plus(part)))
    if len(text) >= LONG:
        forms.update(_in_base64(text.encode("utf-8", "replace")))
    return forms


def _in_base64(secret: bytes) -> Iterator[str]:
    """A secret in both alphabets of Base64: alone, and inside a longer text such as `user:secret`.

    Base64 encodes three bytes as four characters, so the same bytes look different after 0, 1 or 2 other bytes. At the
    edges, characters also encode bits of neighbouring bytes, so these are cut off.
    """
    forms = {base64.b64encode(secret).decode().rstrip("=")}
    for before, mixed in enumerate((0, 2, 3)):  # bytes before it, characters that they have a part in
        encoded = base64.b64encode(bytes(before) + secret).decode()
        forms.add(encoded[mixed : -4 if encoded.endswith("=") else None])
    for form in forms:
        yield form
        yield form.translate(_URL_SAFE)


def hide(name: str, value: str) -> str:
    """A replacement for `replace_secrets`."""
    return HIDDEN


# fmt: off
_SECRET_WORDS = frozenset((
    "token", "secret", "secrets", "password", "passwd", "passphrase", "pwd", "pass", "key", "apikey", "auth",
    "authorization", "credential", "credentials", "bearer", "cookie", "pat", "jwt",
))
_NOT_ITSELF = frozenset((
    "path", "file", "dir", "folder", "id", "name", "url", "uri", "host", "type", "method", "mode", "ttl", "timeout",
))
"""Last words of names whose value is not the secret itself, such as `token_file` or `key_id`."""
# fmt: on
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# OpenAI and others, GitHub, GitLab, Slack, Hugging Face, AWS, Google, and JSON Web Tokens.
_SECRET_VALUE = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|hf_\w{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
"""Tokens that are recognized by their prefix."""


def looks_secret(name: str) -> bool:
    """Whether a variable, header or option of this name is likely to hold a secret."""
    # Word by word: `MONKEY` contains "key" and is none, `API_KEY_FILE` is a path, `apiKey` and `X-Api-Key` are secrets.
    words = [word.lower() for word in _WORD.findall(name)]
    return not _SECRET_WORDS.isdisjoint(words) and words[-1] not in _NOT_ITSELF


# ------------------------------------------------------------------------------------------- secrets in a configuration
Replacement = Callable[[str, str], str]
"""Gets the name and value of a secret; returns the text that replaces it."""

_SCHEME = re.compile(r"(?P<scheme>(?:Bearer|Basic|ApiKey)\s+)(?P<value>\S.*)", re.IGNORECASE | re.DOTALL)
# `:(?!//)`: the scheme of a URL is not a name.
_NAMED = re.compile(r"(?P<start>(?P<name>-{0,2}[A-Za-z][\w-]*)(?:=|:(?!//)\s*))(?P<value>.*)", re.DOTALL)
"""A name and its value in one argument."""
_WORD_OF_TEXT = r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s;&|,"'{}\[\]]+)"""
_PAIR_WITHIN = re.compile(
    r"""(?P<start>(?<![\w-])(?P<name>-{0,2}[A-Za-z][\w-]*)["']?\s*(?:=|:(?!//))\s*(?:(?:Bearer|Basic|ApiKey)\s+)?)"""
    + _WORD_OF_TEXT,
    re.IGNORECASE,
)
_OPTION_WITHIN = re.compile(r"(?P<start>(?<!\S)(?P<name>--?[A-Za-z][\w-]*)\s+)" + _WORD_OF_TEXT)
"""A name and its value inside a longer text, such as a script, JSON or a connection string."""
_DEFAULT = re.compile(r"(?P<start>\$\{(?:env:)?(?P<name>[A-Za-z_]\w*):-)(?P<value>[^{}]+)\}")
"""A variable with a default value."""
_PLACEHOLDER = re.compile(r"\$\{(?:[^{}]|\$\{[^{}]*\})*\}")
# The colon inside of `${VAR:-default}` does not end the user name, so a placeholder counts as one character.
_USER = re.compile(rf"(?P<name>(?:{_PLACEHOLDER.pattern}|[^:])*)(?::(?P<password>.*))?", re.DOTALL)
"""The user and password of a URL."""


def replace_secrets(parameters: Mapping[str, Any], replacement: Replacement) -> dict[str, Any]:
    """Server parameters in which each secret in plain text is replaced. A placeholder is not a secret; its default
    value may contain one.

    Secrets are found by the names of environment variables, headers and command line options, as the password and the
    query of URLs, and by the prefixes of known tokens anywhere.
    """
    shown = dict(parameters)
    for field in ("env", "headers", "oauth"):
        if isinstance(values := shown.get(field), Mapping):
            named = cast("Mapping[str, Any]", values)
            shown[field] = {name: _in_value(name, value, replacement) for name, value in named.items()}
    if isinstance(args := shown.get("args"), list):
        shown["args"] = _in_args(cast("list[Any]", args), replacement)
    if isinstance(url := shown.get("url"), str):
        shown["url"] = _in_value("url", url, replacement)
    return shown


def hide_in_text(text: str, replacement: Replacement) -> str:
    """A text in which known tokens, and the password and query of a URL, are replaced."""
    return _in_value("", text, replacement)


def _in_value(name: str, value: Any, replacement: Replacement) -> Any:
    """Replace the secrets in the value of a name: the whole value if the name looks secret, else parts of it."""
    if not isinstance(value, str) or not value:
        return value
    # `Bearer` stays visible: it shows what kind of header the owner wrote, and is no secret.
    scheme = _SCHEME.fullmatch(value)
    # A text such as `Basic tool set` has a scheme by accident; credentials have no spaces.
    if looks_secret(name) or (scheme is not None and " " not in scheme["value"]):
        start, secret = (scheme["scheme"], scheme["value"]) if scheme is not None else ("", value)
        value = start + _as_secret(name, secret, replacement)
        # With placeholders in it, the value may also have a URL or a token between them.
        if "${" not in secret:
            return value
    else:
        value = _DEFAULT.sub(
            lambda found: found["start"] + _in_value(found["name"], found["value"], replacement) + "}", value
        )
    if "://" in value and not _PLACEHOLDER.fullmatch(value) and not any(map(str.isspace, value)):
        value = _in_url(value, replacement)
    else:
        for pattern in (_PAIR_WITHIN, _OPTION_WITHIN):
            value = pattern.sub(lambda found: _in_match(found, replacement), value)
    return _SECRET_VALUE.sub(lambda found: replacement(name, found[0]), value)


def _in_match(found: re.Match[str], replacement: Replacement) -> str:
    """A name and its value inside a text."""
    name, value = found["name"], found["value"]
    quote = value[0] if value[0] in "\"'" else ""
    inner = value.strip(quote) if quote else value
    # A `$` begins a variable of a script, and a `-` the next option: neither is the secret.
    if not looks_secret(name) or not inner or inner.startswith(("$", "-", HIDDEN)):
        return found[0]
    return f"{found['start']}{quote}{_as_secret(name, inner, replacement)}{quote}"


def _as_secret(name: str, value: str, replacement: Replacement) -> str:
    """A secret: the whole value, or the default values of the placeholders in it."""
    if "${" not in value:
        return replacement(name, value)
    return _DEFAULT.sub(lambda found: found["start"] + replacement(name, found["value"]) + "}", value)


def _in_args(args: list[Any], replacement: Replacement) -> list[Any]:
    # A secret on a command line follows its flag (`--token x`), or is in the same argument (`--token=x`). The first
    # form needs the argument before.
    shown: list[Any] = []
    flag = ""
    for arg in args:
        if not isinstance(arg, str):
            shown.append(arg)
            continue
        found = _NAMED.fullmatch(arg)
        if found is not None:  # --token=x, -e TOKEN=x, "Authorization: Bearer x"
            shown.append(found["start"] + _in_value(found["name"], found["value"], replacement))
        # A value that begins with a hyphen is taken for the next flag, unless the flag before it needs a secret: tokens
        # may begin with one, too.
        elif flag and (not arg.startswith("-") or looks_secret(flag)):
            shown.append(_in_value(flag, arg, replacement))
        else:
            shown.append(_in_value("", arg, replacement))
        flag = arg if found is None and arg.startswith("-") else ""
    return shown


def _in_url(url: str, replacement: Replacement) -> str:
    parts = urlsplit(url)
    netloc, query = parts.netloc, parts.query
    user, _, host = netloc.rpartition("@")
    found = _USER.fullmatch(user)
    if found is not None and found["password"]:
        netloc = f"{found['name']}:{_as_secret('password', found['password'], replacement)}@{host}"
    elif len(user) >= LONG and not user.endswith(":"):  # a token in place of the user name
        netloc = f"{_as_secret('user', user, replacement)}@{host}"
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    query = "&".join(f"{name}{equals}{_in_value(name, value, replacement)}" for name, equals, value in pairs)
    return urlunsplit(parts._replace(netloc=netloc, query=query))
