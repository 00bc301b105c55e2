"""`a2c computer servers`: the MCP servers of a Computer that runs."""

from __future__ import annotations

from typing import Annotated

import typer

from a2c_smcp.cli.computer.owner.reaching import answer
from a2c_smcp.cli.options import Json

app = typer.Typer(invoke_without_command=True)

Name = Annotated[str, typer.Argument(metavar="SERVER", help="Name of the MCP server.")]


@app.callback()
def servers(context: typer.Context, as_json: Json = False) -> None:
    """Look after the MCP servers of a Computer that runs. Without a subcommand, list them."""
    if context.invoked_subcommand is not None:
        return
    from a2c_smcp.cli.computer.owner import views

    answer(context, as_json, lambda computer: computer.get("/servers")["servers"], views.servers)


@app.command()
def show(context: typer.Context, server: Name, as_json: Json = False) -> None:
    """Show an MCP server, its last error, and what it wrote to standard error."""
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.console.owner.client import path_of

    answer(context, as_json, lambda computer: computer.get(path_of("servers", server)), views.server)


@app.command()
def restart(context: typer.Context, server: Name, as_json: Json = False) -> None:
    """Restart an MCP server, and wait until it is ready or has failed."""
    _act(context, server, "restart", as_json)


@app.command()
def enable(context: typer.Context, server: Name, as_json: Json = False) -> None:
    """Enable an MCP server, also in the configuration file."""
    _act(context, server, "enable", as_json)


@app.command()
def disable(context: typer.Context, server: Name, as_json: Json = False) -> None:
    """Disable an MCP server, also in the configuration file."""
    _act(context, server, "disable", as_json)


def _act(context: typer.Context, server: str, action: str, as_json: bool) -> None:
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.console.owner.client import path_of

    answer(context, as_json, lambda computer: computer.post(path_of("servers", server, action)), views.changed_server)
