"""`a2c server`: the hub that Agents and Computers connect to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from a2c_smcp.cli.errors import fail

_WHO = "Who may come in"
_LIMITS = "Limits"
_OUTPUT = "Output"


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.", show_default="8000")] = None,
    config: Annotated[
        Path | None, typer.Option(envvar="A2C_CONFIG", help="A TOML file with these settings, e.g. port = 9000.")
    ] = None,
    socketio_path: Annotated[str | None, typer.Option(help="HTTP path.", show_default="/socket.io")] = None,
    cors_origins: Annotated[
        str | None, typer.Option(help="Web origins that may connect from a browser, comma separated, or *.")
    ] = None,
    metrics: Annotated[
        bool | None, typer.Option("--metrics/--no-metrics", help="Serve /metrics for Prometheus.", show_default="on")
    ] = None,
    metrics_by_office: Annotated[
        bool | None,
        typer.Option("--metrics-by-office", help="Count requests for each office too.", show_default="off"),
    ] = None,
    forwarded_allow_ips: Annotated[
        str | None,
        typer.Option(help="Proxies whose X-Forwarded-For is believed, comma separated.", show_default="127.0.0.1"),
    ] = None,
    grace: Annotated[
        float | None, typer.Option(help="Seconds that running calls get at shutdown.", show_default="10")
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="One shared key that may do everything; better in A2C_API_KEY.", rich_help_panel=_WHO),
    ] = None,
    api_key_header: Annotated[
        str | None, typer.Option(help="HTTP header of the key.", show_default="x-api-key", rich_help_panel=_WHO)
    ] = None,
    keys_file: Annotated[
        Path | None, typer.Option(help="API keys, each for certain offices; see `a2c keys`.", rich_help_panel=_WHO)
    ] = None,
    jwt_key_file: Annotated[
        Path | None,
        typer.Option(help="Public key (PEM: RS256, ES256) or secret (HS256) of JSON Web Tokens.", rich_help_panel=_WHO),
    ] = None,
    jwt_audience: Annotated[
        str | None, typer.Option(help="Audience that tokens must name.", rich_help_panel=_WHO)
    ] = None,
    jwt_issuer: Annotated[str | None, typer.Option(help="Issuer that tokens must name.", rich_help_panel=_WHO)] = None,
    insecure: Annotated[
        bool | None,
        typer.Option("--insecure", help="Listen beyond this machine without authentication.", rich_help_panel=_WHO),
    ] = None,
    ssl_certfile: Annotated[Path | None, typer.Option(help="TLS certificate (PEM).", rich_help_panel=_WHO)] = None,
    ssl_keyfile: Annotated[Path | None, typer.Option(help="TLS private key (PEM).", rich_help_panel=_WHO)] = None,
    max_message_bytes: Annotated[
        int | None, typer.Option(help="Largest message.", show_default="10000000", rich_help_panel=_LIMITS)
    ] = None,
    requests_per_second: Annotated[
        float | None,
        typer.Option(help="Per connection, over time; 0: no limit.", show_default="100", rich_help_panel=_LIMITS),
    ] = None,
    request_burst: Annotated[
        int | None, typer.Option(help="Per connection, at once.", show_default="1000", rich_help_panel=_LIMITS)
    ] = None,
    max_calls_in_flight: Annotated[
        int | None,
        typer.Option(
            help="Requests of one connection that wait for an answer; 0: no limit.",
            show_default="1000",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    connections_per_ip: Annotated[
        int | None,
        typer.Option(
            help="Connections from one address; 0: no limit, loopback is exempt.",
            show_default="100",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_name_length: Annotated[
        int | None, typer.Option(help="Characters in a name or id.", show_default="256", rich_help_panel=_LIMITS)
    ] = None,
    max_tool_timeout: Annotated[
        int | None,
        typer.Option(help="Seconds a tool call may ask for.", show_default="3600", rich_help_panel=_LIMITS),
    ] = None,
    default_timeout: Annotated[
        int | None,
        typer.Option(help="Seconds for requests that name no timeout.", show_default="60", rich_help_panel=_LIMITS),
    ] = None,
    log_level: Annotated[
        str | None, typer.Option(help="debug, info, warning or error.", show_default="info", rich_help_panel=_OUTPUT)
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(help="human or json, on standard error.", show_default="human", rich_help_panel=_OUTPUT),
    ] = None,
) -> None:
    """Run the Server: the hub that Agents and Computers connect to.

    Every option can also be set in the environment (--max-message-bytes is A2C_MAX_MESSAGE_BYTES) or in a TOML file
    (max_message_bytes = …); a flag beats the environment, which beats the file.

    Only this machine can reach it unless you give --host; then it wants a key:

        a2c keys add alice --office 'acme-*' --file keys.toml

        a2c server --host 0.0.0.0 --keys-file keys.toml --ssl-certfile cert.pem --ssl-keyfile key.pem
    """
    flags = {name: value for name, value in locals().items() if name != "config" and value is not None}
    run(flags, config)


def run(flags: dict[str, Any], config: Path | None) -> None:
    """Read the settings, refuse what is unsafe, and serve."""
    import ssl

    from a2c_smcp.server.serving import logger, serve
    from a2c_smcp.server.setting_problems import SettingsError, load_settings
    from a2c_smcp.utils.logger import configure_logging

    try:
        settings = load_settings(flags, config)
        configure_logging(settings.log_level, settings.log_format)
        provider = settings.auth_provider()
        settings.check_tls()
    except SettingsError as error:
        _fail_with(error.lines)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except ValueError as error:
        fail(str(error), 2)
    if provider is None and not settings.is_local and not settings.insecure:
        fail(
            f"refusing to listen on {settings.host} without authentication: give --api-key, --keys-file or "
            "--jwt-key-file, or --insecure if you mean it",
            2,
        )

    def on_ready(url: str) -> None:
        who = "anybody on this machine" if settings.is_local else "ANYBODY (--insecure)"
        logger.info("A2C Server at %s, path %s, namespace /smcp", url, settings.socketio_path)
        logger.info("may connect: %s", who if provider is None else "who has a valid credential")
        logger.info("Ctrl-C stops it")

    try:
        serve(settings, provider, on_ready, load=lambda: load_settings(flags, config))
    except ssl.SSLError as error:
        fail(f"{settings.ssl_certfile}, {settings.ssl_keyfile}: not a certificate and its key: {error}", 2)
    except OSError as error:
        fail(f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}")


def _fail_with(lines: list[str]) -> NoReturn:
    if len(lines) == 1:
        fail(lines[0], 2)
    for line in lines:
        typer.echo(line, err=True)
    fail(f"{len(lines)} mistakes in the settings", 2)
