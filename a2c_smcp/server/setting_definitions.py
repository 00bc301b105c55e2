"""Every setting of `a2c server`, defined once: its name, type, bounds, default, and the help of its flag.

`settings.ServerSettings` reads and checks the values; the command line takes its options from `flags`. This module
imports no pydantic, so that `a2c --help` stays fast. The docstring after a setting adds to its help in the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from annotated_types import Ge, Le

from a2c_smcp.protocol.limits import Limits

_ACCESS = "Who may come in"
_LIMITS = "Limits"
_OUTPUT = "Output"
_DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Flag:
    """The option on the command line that sets a setting; `panel` groups options in the help."""

    help: str
    panel: str | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A setting sets this field of `Limits`."""

    name: str


class SettingDefinitions:
    """The settings of `a2c server`."""

    host: Annotated[str, Flag("Address to listen on.")] = "127.0.0.1"
    """Any address but loopback wants authentication, or `insecure`."""
    port: Annotated[int, Ge(0), Le(65535), Flag("Port; 0 takes a free one.")] = 8000
    socketio_path: Annotated[str, Flag("HTTP path.")] = "/socket.io"
    cors_origins: Annotated[str | None, Flag("Web origins that may connect from a browser, comma separated, or *.")] = (
        None
    )
    """An open Server on loopback lets in the pages of its own machine; any other lets in its own origin."""
    metrics: Annotated[bool, Flag("Serve /metrics for Prometheus.")] = True
    """On the same port as everything else."""
    metrics_by_office: Annotated[bool, Flag("Count requests for each office too.")] = False
    """Off, because every office adds time series; at most 1,000 offices have their own."""
    forwarded_allow_ips: Annotated[str, Flag("Proxies whose X-Forwarded-For is believed, comma separated.")] = (
        "127.0.0.1"
    )
    grace: Annotated[float, Ge(0), Flag("Seconds that running calls get at shutdown.")] = 10.0
    """Then they are refused, every member is announced as leaving, and the Server ends."""

    api_key: Annotated[Any, Flag("One shared key that may do everything; better in A2C_API_KEY.", _ACCESS)]
    api_key_header: Annotated[str, Flag("HTTP header of the key.", _ACCESS)] = "x-api-key"
    keys_file: Annotated[Path | None, Flag("API keys, each for certain offices; see `a2c keys`.", _ACCESS)] = None
    """It is read again when it changes."""
    jwt_key: Any
    """The key of JSON Web Tokens itself, for where there is no file; `jwt_key_file` beats it."""
    jwt_key_file: Annotated[
        Path | None, Flag("Public key (PEM: RS256, ES256) or secret (HS256) of JSON Web Tokens.", _ACCESS)
    ] = None
    """The key alone decides on the algorithm. A secret has at least 32 bytes."""
    jwt_audience: Annotated[str | None, Flag("Audience that tokens must name.", _ACCESS)] = None
    jwt_issuer: Annotated[str | None, Flag("Issuer that tokens must name.", _ACCESS)] = None
    insecure: Annotated[bool, Flag("Listen beyond this machine without authentication.", _ACCESS)] = False
    ssl_certfile: Annotated[Path | None, Flag("TLS certificate (PEM).", _ACCESS)] = None
    ssl_keyfile: Annotated[Path | None, Flag("TLS private key (PEM).", _ACCESS)] = None

    max_message_bytes: Annotated[int, Ge(1_000), Limit("message_bytes"), Flag("Largest message.", _LIMITS)] = (
        _DEFAULTS.message_bytes
    )
    """In bytes. A larger one is answered with 413, and above twice that the connection ends."""
    requests_per_second: Annotated[
        float, Ge(0), Limit("requests_per_second"), Flag("Per connection, over time; 0: no limit.", _LIMITS)
    ] = _DEFAULTS.requests_per_second
    """One too many is answered with 429."""
    request_burst: Annotated[int, Ge(1), Limit("request_burst"), Flag("Per connection, at once.", _LIMITS)] = (
        _DEFAULTS.request_burst
    )
    """One too many is answered with 429."""
    max_calls_in_flight: Annotated[
        int,
        Ge(0),
        Limit("calls_in_flight"),
        Flag("Requests of one connection that wait for an answer; 0: no limit.", _LIMITS),
    ] = _DEFAULTS.calls_in_flight
    """One too many is answered with 429."""
    connections_per_ip: Annotated[
        int,
        Ge(0),
        Limit("connections_per_ip"),
        Flag("Connections from one address; 0: no limit, loopback is exempt.", _LIMITS),
    ] = _DEFAULTS.connections_per_ip
    """One too many is refused with 429."""
    max_name_length: Annotated[int, Ge(1), Limit("name_length"), Flag("Characters in a name or id.", _LIMITS)] = (
        _DEFAULTS.name_length
    )
    """A longer one is refused with 400."""
    max_tool_timeout: Annotated[
        int, Ge(1), Limit("tool_timeout"), Flag("Seconds a tool call may ask for.", _LIMITS)
    ] = _DEFAULTS.tool_timeout
    """A call that asks for more is refused with 400."""
    default_timeout: Annotated[
        int, Ge(1), Limit("default_timeout"), Flag("Seconds for requests that name no timeout.", _LIMITS)
    ] = _DEFAULTS.default_timeout
    """Then the answer is 408."""

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Flag("debug, info, warning or error.", _OUTPUT)
    ] = "info"
    log_format: Annotated[Literal["human", "json"], Flag("human or json, on standard error.", _OUTPUT)] = "human"


@dataclass(frozen=True, slots=True)
class FlagDefinition:
    """A setting as an option of the command line."""

    name: str
    kind: type[Any]
    default: Any
    flag: Flag


def flags() -> Iterator[FlagDefinition]:
    """Every setting that has a flag, in order."""
    for name, hint, notes in _definitions():
        flag = next((note for note in notes if isinstance(note, Flag)), None)
        if flag is not None:
            kinds = [kind for kind in (hint, *get_args(hint)) if kind in (bool, int, float, Path)]
            yield FlagDefinition(name, kinds[0] if kinds else str, getattr(SettingDefinitions, name, None), flag)


def limits() -> dict[str, str]:
    """The settings that set limits, each with the field of `Limits` that it sets."""
    return {name: note.name for name, _, notes in _definitions() for note in notes if isinstance(note, Limit)}


def _definitions() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    for name, hint in get_type_hints(SettingDefinitions, include_extras=True).items():
        plain, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        yield name, plain, tuple(notes)
