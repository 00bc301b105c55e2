"""`a2c server`: makes the options from the settings, and runs the Server. Its subcommands are in `hub.py`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from a2c_smcp.cli import hub
from a2c_smcp.cli.errors import fail
from a2c_smcp.server.setting_definitions import flags

if TYPE_CHECKING:
    from a2c_smcp.server.auth import AuthenticationProvider
    from a2c_smcp.server.cluster.link import UnusableRedis
    from a2c_smcp.server.settings import ServerSettings

logger = logging.getLogger("a2c_smcp.server")


app = typer.Typer(invoke_without_command=True)
app.command("status")(hub.status)
app.command("members")(hub.members)
app.command("calls")(hub.calls)
app.command("kick")(hub.kick)


def serve(context: typer.Context, config: Path | None = None, **values: Any) -> None:
    """Run the Server: the hub that Agents and Computers connect to.

    Every option can also be set in the environment (--max-message-bytes is A2C_MAX_MESSAGE_BYTES) or in a TOML file
    (max_message_bytes = …). Options take precedence over the environment, and the environment over the file.

    By default, only this machine can connect. Any other --host requires authentication:

        a2c keys add alice --office 'acme-*' --file keys.toml

        a2c server --host 0.0.0.0 --keys-file keys.toml --ssl-certfile cert.pem --ssl-keyfile key.pem
    """
    if context.invoked_subcommand is None:
        run({name: value for name, value in values.items() if value is not None}, config)


def _options() -> Iterator[Parameter]:
    """The options of the command: one for each setting, and --config."""
    # The default of every option is None. A real default could not be told from a value that the user gives, and would
    # override the environment and the file.
    for name, kind, default, flag in flags():
        long = name.replace("_", "-")
        names = f"--{long}/--no-{long}" if default is True else f"--{long}"
        shown = _shown(default) or True  # typer shows a text in place of the None
        yield _option(name, kind, typer.Option(names, help=flag.help, show_default=shown, rich_help_panel=flag.panel))
        if name == "port":
            help = "TOML file with these settings, such as port = 9000."
            yield _option("config", Path, typer.Option("--config", envvar="A2C_CONFIG", help=help))


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"{default:.12g}" if isinstance(default, int | float) else default or ""


def _option(name: str, kind: Any, option: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


# Typer reads the signature. The settings are defined once, in `setting_definitions`, and not again as parameters here.
cast("Any", serve).__signature__ = Signature(
    [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context), *_options()]
)
app.callback()(serve)


def run(given: dict[str, Any], config: Path | None) -> None:
    """Load the settings, reject unsafe ones, and serve."""
    from a2c_smcp.server.cluster.link import UnusableRedis
    from a2c_smcp.server.setting_problems import SettingsError, load_settings

    try:
        settings, provider = load(given, config)
    except SettingsError as error:
        _fail_with(error.lines)
    if provider is None and not settings.is_local and not settings.insecure:
        fail(
            f"refusing to listen on {settings.host} without authentication: set --api-key, --keys-file, "
            "--jwt-key-file or --oidc-issuer; --insecure allows it",
            2,
        )

    def on_ready(url: str) -> None:
        who = "every client on this machine" if settings.is_local else "EVERY CLIENT (--insecure)"
        logger.info("A2C Server at %s, path %s, namespace /smcp", url, settings.socketio_path)
        if settings.mcp:
            logger.info("MCP hosts use an office at %s/mcp/OFFICE", (settings.public_url or url).rstrip("/"))
        logger.info("admits %s", who if provider is None else "clients with a valid credential")
        logger.info("press Ctrl-C to stop")

    try:
        if settings.workers > 1:
            from a2c_smcp.cli.workers import run_workers

            run_workers(settings, given, config, on_ready)
        else:
            from a2c_smcp.server.serving import serve

            # `load` is for SIGHUP. It gets the same options, which keep their precedence over a file that has changed.
            serve(settings, provider, on_ready, load=lambda: load_settings(given, config))
    except (OSError, UnusableRedis) as error:
        fail(*why_it_cannot_serve(error, settings))


def load(
    given: dict[str, Any], config: Path | None, *, worker: int | None = None
) -> tuple[ServerSettings, AuthenticationProvider | None]:
    """Read and check the settings, and log as they say.

    Raises:
        SettingsError: they have mistakes, or name a file that cannot be used.
    """
    from a2c_smcp.server.setting_problems import SettingsError, load_settings
    from a2c_smcp.utils.logger import configure_logging

    try:
        settings = load_settings(given, config)
        configure_logging(settings.log_level, settings.log_format, worker=worker)
        settings.check_tls()
        settings.check_cluster()
        settings.check_logins()
        _check_profiles(settings, config)
        return settings, settings.auth_provider()
    except SettingsError:
        raise
    except OSError as error:
        raise SettingsError([f"{error.filename}: {error.strerror}" if error.filename else str(error)]) from None
    except ValueError as error:
        raise SettingsError([str(error)]) from None


def _check_profiles(settings: ServerSettings, config: Path | None) -> None:
    if settings.mcp_profiles is None:
        return

    from a2c_smcp.cli.mcp.profiles import problems_in_profiles
    from a2c_smcp.server.setting_problems import SettingsError

    found = problems_in_profiles(settings, config)
    lines = [f"{place}: {problem}" if place is not None else str(problem) for place, problem in found]
    if lines:
        raise SettingsError(lines)


def why_it_cannot_serve(error: OSError | UnusableRedis, settings: ServerSettings) -> tuple[str, int]:
    """What an error means that `serve` raised, and the exit code for it."""
    import ssl

    from a2c_smcp.server.cluster.link import UnusableRedis

    if isinstance(error, UnusableRedis):
        return str(error), 1
    if isinstance(error, ssl.SSLError):
        return f"{settings.ssl_certfile} and {settings.ssl_keyfile} are not a certificate and its key: {error}", 2
    return f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}", 1


def _fail_with(lines: list[str]) -> NoReturn:
    if len(lines) == 1:
        fail(lines[0], 2)
    for line in lines:
        typer.echo(line, err=True)
    fail(f"{len(lines)} mistakes in the settings", 2)
