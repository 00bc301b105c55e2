"""`a2c mcp`: the options, and `a2c mcp install`."""

from __future__ import annotations

from typing import Annotated

import typer

from a2c_smcp.cli.mcp.options import (
    ApiKeyHeader,
    Computers,
    Mode,
    OfficeId,
    ProfileName,
    ReadOnly,
    Servers,
    Tags,
    Target,
    Url,
)
from a2c_smcp.cli.options import OUTPUT, ApiKey, CaFile, Json, check_log_level

app = typer.Typer(invoke_without_command=True)


@app.callback()
def mcp(
    context: typer.Context,
    url: Url = None,
    office: OfficeId = None,
    api_key: ApiKey = None,
    api_key_header: ApiKeyHeader = None,
    ca_file: CaFile = None,
    profile: ProfileName = None,
    mode: Mode = None,
    computers: Computers = None,
    servers: Servers = None,
    tags: Tags = None,
    read_only: ReadOnly = False,
    log_level: Annotated[
        str, typer.Option(help="debug, info, warning or error, on standard error.", rich_help_panel=OUTPUT)
    ] = "warning",
) -> None:
    """Serve an office as an MCP server to a host that starts commands, such as Claude Desktop.

        a2c mcp --url https://hub.example.com --office acme

    The host starts this command and uses its standard input and output. Hosts that take a URL
    can use https://hub.example.com/mcp/acme instead. `a2c mcp install` writes the configuration
    of a host.

    All hosts of an office share one Agent seat. If the Server does not serve MCP hosts, this
    command takes the seat for its own host.

    Exit codes: 0 the host closed standard input, or a signal; 2 invalid usage; 3 cannot connect
    to the Server, or the key is not accepted.
    """
    target = Target(
        url=url,
        office=office,
        profile=profile,
        mode=mode,
        computers=tuple(computers or ()),
        servers=tuple(servers or ()),
        tags=tuple(tags or ()),
        read_only=read_only,
        api_key=api_key,
        api_key_header=api_key_header,
        ca_file=ca_file,
    )
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
def install(
    context: typer.Context,
    host: Annotated[
        str, typer.Argument(help="claude-desktop, claude-code, cursor, vscode or codex.", metavar="HOST")
    ],
    url: Url = None,
    office: OfficeId = None,
    api_key: ApiKey = None,
    api_key_header: ApiKeyHeader = None,
    ca_file: CaFile = None,
    profile: ProfileName = None,
    mode: Mode = None,
    computers: Computers = None,
    servers: Servers = None,
    tags: Tags = None,
    read_only: ReadOnly = False,
    name: Annotated[str, typer.Option(help="Name of the MCP server in the host.")] = "a2c",
    http: Annotated[
        bool, typer.Option("--http", help="Let the host connect to the URL itself, instead of starting `a2c mcp`.")
    ] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the configuration, and write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Add an office to the configuration of an MCP host.

        a2c mcp install cursor --url https://hub.example.com --office acme

    Everything else in the host's file stays as it is, and the first change keeps a copy beside it.
    A key (A2C_API_KEY) is stored in the file. If the file cannot be changed without losing
    something, the command prints what to add to it, and exits with code 1.
    """
    from a2c_smcp.cli.mcp.install import install as write

    own = Target(
        url=url,
        office=office,
        profile=profile,
        mode=mode,
        computers=tuple(computers or ()),
        servers=tuple(servers or ()),
        tags=tuple(tags or ()),
        read_only=read_only,
        api_key=api_key,
        api_key_header=api_key_header,
        ca_file=ca_file,
    )
    target = own.or_else(context.obj) if isinstance(context.obj, Target) else own
    write(host, target.checked(), name, http=http, only_print=only_print, as_json=as_json)
