"""`a2c mcp`: serves an office to the host that started it; `a2c mcp install` configures such a host."""

from __future__ import annotations

from typing import Annotated

import typer

from a2c_smcp.cli.mcp.options import Target
from a2c_smcp.cli.option_groups import takes
from a2c_smcp.cli.options import OUTPUT, Json, check_log_level

app = typer.Typer(invoke_without_command=True)


@app.callback()
@takes(Target, "target")
def mcp(
    context: typer.Context,
    *,
    target: Target,
    log_level: Annotated[
        str, typer.Option(help="debug, info, warning or error, on standard error.", rich_help_panel=OUTPUT)
    ] = "warning",
) -> None:
    """Serve an office to an MCP host that starts commands, such as Claude Desktop.

        a2c mcp --url https://hub.example.com --office acme

    The host starts this command, and uses its standard input and output. A host
    that takes a URL can use https://hub.example.com/mcp/acme instead. To write
    the configuration of a host, use `a2c mcp install`.

    All hosts of an office share one Agent seat. If the Server does not serve
    MCP hosts, this command takes the seat for its own host.

    Exit codes: 0 the host closed standard input, or a signal; 2 invalid usage;
    3 cannot connect to the Server, or the key is not accepted.
    """
    if context.invoked_subcommand is not None:
        context.obj = target
        return

    from a2c_smcp.cli.mcp.serving import serve
    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.utils.logger import configure_logging

    target = target.checked()
    configure_logging(check_log_level(log_level), "human")
    run_until_done(serve(target))


@app.command()
@takes(Target, "target")
def install(
    context: typer.Context,
    host: Annotated[
        str, typer.Argument(help="claude-desktop, claude-code, cursor, vscode, gemini-cli or codex.", metavar="HOST")
    ],
    *,
    target: Target,
    name: Annotated[str, typer.Option(help="Name of the MCP server in the host.")] = "a2c",
    http: Annotated[
        bool, typer.Option("--http", help="Let the host connect to the URL itself, instead of starting `a2c mcp`.")
    ] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the configuration, and write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Add an office to the configuration of an MCP host.

        a2c mcp install cursor --url https://hub.example.com --office acme

    Everything else in the host's file stays as it is. The first change keeps a
    copy of the file beside it. A key (A2C_API_KEY) is stored in the file.

    If the file cannot be changed without losing something, this command prints
    what to add to it, and exits with code 1.
    """
    from a2c_smcp.cli.mcp.install import install as write

    # Options may also be given before `install`.
    target = target.or_else(context.obj).checked()
    write(host, target, name, http=http, only_print=only_print, as_json=as_json)
