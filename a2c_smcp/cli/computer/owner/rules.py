"""`a2c computer rules`: what decides about the calls of each tool, on a Computer that runs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.computer.owner.reaching import answer
from a2c_smcp.cli.errors import did_you_mean, fail
from a2c_smcp.cli.options import Json

if TYPE_CHECKING:
    from a2c_smcp.console.owner.client import OwnerClient

app = typer.Typer(invoke_without_command=True)


class Wanted(StrEnum):
    """What happens with a call of a tool."""

    RUN = "run"
    ASK = "ask"
    FORBID = "forbid"


@app.callback()
def rules(context: typer.Context, as_json: Json = False) -> None:
    """Show which tools run, ask first, or are forbidden, and what says so. Without a subcommand, list them."""
    if context.invoked_subcommand is not None:
        return
    from a2c_smcp.cli.computer.owner import views

    answer(context, as_json, lambda computer: computer.get("/tools")["tools"], views.rules)


@app.command("set")
def set_rule(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="Name of the tool, as `rules` lists it.")],
    rule: Annotated[Wanted, typer.Argument(help="run, ask or forbid.")],
    server: Annotated[str | None, typer.Option(help="Its MCP server, if several have a tool of this name.")] = None,
    as_json: Json = False,
) -> None:
    """Change the rule for a tool, also in the configuration file."""
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.console.owner.client import path_of

    def change(computer: OwnerClient) -> Any:
        known = computer.get("/tools")["tools"]
        found = [each for each in known if each["name"] == tool and server in (None, each["server"])]
        if not found:
            fail(f"no MCP server that is ready has a tool {tool}{did_you_mean(tool, [each['name'] for each in known])}")
        if len(found) > 1:
            fail(f"several MCP servers have a tool {tool}: {', '.join(each['server'] for each in found)}; add --server")
        place = path_of("tools", found[0]["server"], found[0]["original_name"], "rule")
        return computer.put(place, {"rule": rule.value})

    answer(context, as_json, change, views.changed_rule)
