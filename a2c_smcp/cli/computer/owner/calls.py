"""`a2c computer calls`: the last calls of a Computer that runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from a2c_smcp.cli.computer.owner.reaching import answer, reached
from a2c_smcp.cli.options import Json


def calls(
    context: typer.Context,
    most: Annotated[int, typer.Option("--last", min=1, max=1000, help="How many calls.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print further calls as they end.")] = False,
    as_json: Json = False,
) -> None:
    """List the last calls of a Computer that runs, the oldest first."""
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.cli.views import as_json as to_json

    if not follow:
        answer(context, as_json, lambda computer: computer.get(f"/calls?most={most}")["calls"][::-1], views.calls)
        return
    with reached(context) as computer:
        last = 0
        for kind, data in computer.events("topic=calls"):
            events: list[dict[str, Any]] = []
            if kind == "opened":
                events = computer.get(f"/calls?most={most}")["calls"][::-1]
            elif kind == "call":
                events.append(data)
            for each in events:
                if each["number"] > last:  # a call may end between the start of the stream and the list
                    last = each["number"]
                    print(to_json(each) if as_json else views.call_line(each), flush=True)
            if kind == "ended":
                break
