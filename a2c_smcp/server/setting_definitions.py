"""Every setting of `a2c server`, defined once: its name, type, bounds, default, and the help of its flag.

`settings.ServerSettings` reads and checks the values; the command line takes its options from `flags`. This module
imports no pydantic, so that `a2c --help` stays fast. The docstring after a setting adds to its help in the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

from annotated_types import Ge, Le

from a2c_smcp.protocol.limits import Limits

_CLUSTER = "Cluster"
_MCP = "MCP hosts"
_CONSOLE = "Console"
_ACCESS = "Authentication and TLS"
_LIMITS = "Limits"
_OUTPUT = "Output"
_DEFAULTS = Limits()


class Flag(NamedTuple):
    """The option on the command line that sets a setting. `panel` groups options in the help; `limit` is the field of
    `Limits` that the setting sets."""

    help: str
    panel: str | None = None
    limit: str | None = None


def _limit(name: str, help: str) -> Flag:
    return Flag(help, _LIMITS, name)


class SettingDefinitions:
    """The settings of `a2c server`."""

    host: Annotated[str, Flag("Address to listen on.")] = "127.0.0.1"
    """Any address but loopback requires authentication, or `insecure`."""
    port: Annotated[int, Ge(0), Le(65535), Flag("Port to listen on; 0 selects a free one.")] = 8000
    socketio_path: Annotated[str, Flag("HTTP path of Socket.IO.")] = "/socket.io"
    cors_origins: Annotated[str | None, Flag("Web origins that may connect from a browser, comma separated, or *.")] = (
        None
    )
    """By default, a Server on loopback without authentication accepts pages of its own machine; any other accepts only
    its own origin."""
    metrics: Annotated[bool, Flag("Serve /metrics for Prometheus.")] = True
    """The page is on the same port as the Server."""
    metrics_by_office: Annotated[bool, Flag("Count requests in /metrics by office, too.")] = False
    """Off by default, because every office adds time series; at most 1,000 offices are counted separately."""
    forwarded_allow_ips: Annotated[str, Flag("Trusted proxies, whose X-Forwarded-For is used, comma separated.")] = (
        "127.0.0.1"
    )
    versions: Annotated[
        str | None, Flag("Versions of A2C-SMCP that clients may speak: 0.4, a range 0.2-0.4, or several with commas.")
    ] = None
    """By default, clients of every version may connect, and work together in one office. Clients of this project may
    always. Clients of 0.1 name no version: with `0.1` in the list, so may those."""
    console: Annotated[bool, Flag("Serve the operator's pages at /console, and their API at /api/v1.", _CONSOLE)] = True
    """They need a credential whose grant says `admin`: a key of `a2c keys add --admin`, `admin_key`, or a token with
    the claim `a2c_admin`. On loopback without authentication, every user of this machine may open them."""
    console_sessions: Annotated[Path | None, Flag("File that keeps the console's logins over a restart.", _CONSOLE)] = (
        None
    )
    """By default, it is beside `keys_file`, with `.sessions` at its end. Without a key file, a restart ends logins."""
    grace: Annotated[float, Ge(0), Flag("Seconds that running calls have to finish at shutdown.")] = 10.0
    """After that, calls that still run get an error, every member leaves its office, and the Server exits."""

    mcp: Annotated[bool, Flag("Serve offices to MCP hosts at /mcp/OFFICE.", _MCP)] = True
    """The gateway is on the same port as the Server, and checks the same keys."""
    mcp_allowed_hosts: Annotated[
        str | None, Flag("Host headers that MCP hosts may send, without the port, comma separated.", _MCP)
    ] = None
    """By default, `a2c up` and a Server on loopback without authentication accept only localhost, 127.0.0.1 and ::1.
    Any other accepts all."""
    mcp_allowed_origins: Annotated[
        str | None, Flag("Web origins whose pages may be MCP hosts, comma separated, or *.", _MCP)
    ] = None
    """By default, only pages of the Server's own origin."""
    mcp_profiles: Annotated[
        Path | dict[str, Any] | None,
        Flag("File of profiles, in TOML or JSON: /mcp/OFFICE/PROFILE shows a part of an office.", _MCP),
    ] = None
    """The TOML file of settings may also have the profiles themselves, as tables: `[mcp_profiles.NAME]`."""
    public_url: Annotated[
        str | None, Flag("URL of the Server as MCP hosts know it, such as https://hub.example.com.", _MCP)
    ] = None
    """Hosts that support only OAuth need it: tokens are bound to it. By default, it is the Host of each request, if it
    is loopback or, with TLS, an address or one of `mcp_allowed_hosts`."""
    mcp_login: Annotated[bool, Flag("Let MCP hosts log in with OAuth: their user enters a key.", _MCP)] = True
    """The keys are those of `keys_file` and `api_key`. If there is an `oidc_issuer`, hosts log in there instead."""

    redis: Annotated[Any, Flag("URL of a Redis that several Servers share. Prefer the variable A2C_REDIS.", _CLUSTER)]
    """The URL of a Redis that several Servers share, such as redis://127.0.0.1:6379/0. It may contain a password."""
    workers: Annotated[int, Ge(1), Flag("Processes that share the port; more than 1 require --redis.", _CLUSTER)] = 1
    """Each is a node of the cluster. One that dies is replaced. Not on Windows, where they cannot share a port."""
    redis_prefix: Annotated[str, Flag("Prefix of all keys in Redis: one for each cluster.", _CLUSTER)] = "a2c"
    lease: Annotated[
        float, Ge(2), Le(60), Flag("Seconds without Redis after which a node is replaced by the others.", _CLUSTER)
    ] = 8.0
    """A node stops serving before that, and its clients connect to other nodes. A shorter lease notices a dead node
    earlier, a longer one outlasts longer outages of Redis."""

    api_key: Annotated[
        Any, Flag("One shared key, for every office and role. Prefer the variable A2C_API_KEY.", _ACCESS)
    ]
    admin_key: Annotated[
        Any, Flag("One key for the console and its API, and for everything else. Prefer A2C_ADMIN_KEY.", _ACCESS)
    ]
    """Unlike `api_key`, it allows to disconnect members, to add and remove keys, and to stop the Server."""
    api_key_header: Annotated[str, Flag("HTTP header that carries the key.", _ACCESS)] = "x-api-key"
    keys_file: Annotated[Path | None, Flag("File of API keys, each for some offices; see `a2c keys`.", _ACCESS)] = None
    """The file is read again when it changes."""
    jwt_key: Any
    """The key of JSON Web Tokens itself, where a file is not practical; `jwt_key_file` takes precedence."""
    jwt_key_file: Annotated[
        Path | None, Flag("Public key (PEM: RS256, ES256) or secret (HS256) of JSON Web Tokens.", _ACCESS)
    ] = None
    """The key determines the algorithm. A secret needs at least 32 bytes."""
    jwt_audience: Annotated[str | None, Flag("Required audience of tokens.", _ACCESS)] = None
    jwt_issuer: Annotated[str | None, Flag("Required issuer of tokens.", _ACCESS)] = None
    oidc_issuer: Annotated[
        str | None, Flag("OpenID provider whose tokens are accepted, such as https://login.example.com.", _ACCESS)
    ] = None
    """The tokens are checked with the keys that the provider publishes."""
    oidc_audience: Annotated[str | None, Flag("Audience of its tokens; by default, the public URL.", _ACCESS)] = None
    """Tokens for the URL of an office are accepted there, too."""
    oidc_scopes: Annotated[str | None, Flag("Scopes that MCP hosts ask the provider for.", _ACCESS)] = None
    oidc_grants: Annotated[
        Path | list[dict[str, Any]] | None,
        Flag("TOML file of [[oidc_grants]]: what tokens allow, by their claims.", _ACCESS),
    ] = None
    """The TOML file of settings may also have them itself. Without, the claims `offices`, `roles` and `agent_name` say
    it."""
    insecure: Annotated[bool, Flag("Allow other machines to connect without authentication.", _ACCESS)] = False
    ssl_certfile: Annotated[Path | None, Flag("TLS certificate (PEM).", _ACCESS)] = None
    ssl_keyfile: Annotated[Path | None, Flag("TLS private key (PEM).", _ACCESS)] = None

    max_message_bytes: Annotated[int, Ge(1_000), _limit("message_bytes", "Largest message, in bytes.")] = (
        _DEFAULTS.message_bytes
    )
    """A larger message is answered with 413; one of more than twice the size ends the connection."""
    requests_per_second: Annotated[
        float, Ge(0), _limit("requests_per_second", "Requests per second of one connection; 0 means no limit.")
    ] = _DEFAULTS.requests_per_second
    """A request above the limit is answered with 429."""
    request_burst: Annotated[int, Ge(1), _limit("request_burst", "Requests of one connection in a burst.")] = (
        _DEFAULTS.request_burst
    )
    """A request above the limit is answered with 429."""
    max_calls_in_flight: Annotated[
        int,
        Ge(0),
        _limit("calls_in_flight", "Requests of one connection that may wait for an answer; 0 means no limit."),
    ] = _DEFAULTS.calls_in_flight
    """A request above the limit is answered with 429."""
    connections_per_ip: Annotated[
        int,
        Ge(0),
        _limit("connections_per_ip", "Connections from one IP address, except loopback; 0 means no limit."),
    ] = _DEFAULTS.connections_per_ip
    """A connection above the limit is rejected with 429."""
    max_name_length: Annotated[int, Ge(1), _limit("name_length", "Longest name or id, in characters.")] = (
        _DEFAULTS.name_length
    )
    """A longer one is rejected with 400."""
    max_tool_timeout: Annotated[int, Ge(1), _limit("tool_timeout", "Longest timeout of a tool call, in seconds.")] = (
        _DEFAULTS.tool_timeout
    )
    """A call with a longer timeout is rejected with 400."""
    default_timeout: Annotated[
        int, Ge(1), _limit("default_timeout", "Timeout of requests that have none, in seconds.")
    ] = _DEFAULTS.default_timeout
    """A request that times out is answered with 408."""

    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Flag("debug, info, warning or error.", _OUTPUT)
    ] = "info"
    log_format: Annotated[Literal["human", "json"], Flag("human or json, on standard error.", _OUTPUT)] = "human"


def flags() -> Iterator[tuple[str, type[Any], Any, Flag]]:
    """Name, type, default and flag of every setting that has a flag, in order."""
    for name, hint in get_type_hints(SettingDefinitions, include_extras=True).items():
        flag = next((note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Flag)), None)
        if flag is not None:
            plain = get_args(hint)[0]
            kinds = [kind for kind in (plain, *get_args(plain)) if kind in (bool, int, float, Path)]
            yield name, kinds[0] if kinds else str, getattr(SettingDefinitions, name, None), flag


def limits() -> dict[str, str]:
    """The settings that set limits, each with the field of `Limits` that it sets."""
    return {name: flag.limit for name, _, _, flag in flags() if flag.limit is not None}
