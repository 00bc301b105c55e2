"""`a2c computer approvals`: look at the calls that wait for approval, and decide about them."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.computer.owner.reaching import answer, reached
from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.options import Json

if TYPE_CHECKING:
    from a2c_smcp.console.owner.client import OwnerClient

app = typer.Typer(invoke_without_command=True)

BY = "a2c computer approvals"
Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the request, or its beginning, as `approvals` lists it.")]


@app.callback()
def approvals(context: typer.Context, as_json: Json = False) -> None:
    """Decide about calls that need approval, on a Computer that runs. Without a subcommand, list them.

    With several Computers: a2c computer --name NAME --office OFFICE approvals
    """
    if context.invoked_subcommand is None:
        _list(context, as_json)


@app.command("list")
def list_all(context: typer.Context, as_json: Json = False) -> None:
    """List the calls that wait."""
    _list(context, as_json)


@app.command()
def show(context: typer.Context, request_id: Id, as_json: Json = False) -> None:
    """Show a call with all its arguments, and what "always" would write."""
    from a2c_smcp.cli.computer.owner import views

    answer(context, as_json, lambda computer: _find(computer, request_id), views.approval)


@app.command()
def approve(
    context: typer.Context,
    request_id: Id,
    hour: Annotated[bool, typer.Option("--hour", help="Also allow later calls of the tool, for an hour.")] = False,
    session: Annotated[
        bool, typer.Option("--session", help="Also allow later calls of the tool, until the Computer stops.")
    ] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Also write a rule for the tool into the configuration file.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let a call run."""
    if hour + session + always > 1:
        fail("choose one of --hour, --session and --always", 2)
    decision = "hour" if hour else "session" if session else "always" if always else "allow"
    _decide(context, request_id, {"decision": decision}, as_json)


@app.command()
def deny(
    context: typer.Context,
    request_id: Id,
    reason: Annotated[str | None, typer.Option(help="What the Agent is told.")] = None,
    as_json: Json = False,
) -> None:
    """Reject a call."""
    _decide(context, request_id, {"decision": "deny", **({"reason": reason} if reason else {})}, as_json)


@app.command()
def follow(context: typer.Context, as_json: Json = False) -> None:
    """Print calls that need approval as they arrive, and what becomes of them, until Ctrl-C.

    While this runs, calls wait instead of being rejected.
    """
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.cli.views import as_json as to_json

    with reached(context) as computer:
        for kind, data in computer.events("topic=approvals&attend=true"):
            # A stream that begins has no events of what waits already.
            events: list[dict[str, Any]] = computer.get("/approvals")["waiting"] if kind == "opened" else []
            if kind == "approval":
                events.append(data)
            for each in events:
                print(to_json(each) if as_json else views.approval_line(each), flush=True)
            if kind == "ended":
                break


def _list(context: typer.Context, as_json: bool) -> None:
    from a2c_smcp.cli.computer.owner import views

    answer(context, as_json, lambda computer: computer.get("/approvals")["waiting"], views.approvals)


def _find(computer: OwnerClient, request_id: str) -> dict[str, Any]:
    from a2c_smcp.console.owner.client import path_of

    known = computer.get("/approvals")
    every = [each["id"] for each in (*known["waiting"], *known["ended"])]
    matching = [each for each in every if each.startswith(request_id)] if request_id else []
    if len(matching) > 1 and request_id not in matching:
        fail(f"{request_id}: several requests begin with it: {', '.join(matching)}")
    wanted = request_id if request_id in matching or not matching else matching[0]
    return computer.get(f"/approvals{path_of(wanted)}")


def _user() -> str:
    """The name of the user who decides."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user without a name, such as that of a service
        return "this machine"


def _decide(context: typer.Context, request_id: str, body: dict[str, str], as_json: bool) -> None:
    from a2c_smcp.cli.computer.owner import views
    from a2c_smcp.console.owner.client import path_of

    def send(computer: OwnerClient) -> Any:
        found = _find(computer, request_id)
        # With the digest of what was found: the request cannot become one for another call in between.
        sent = {**body, "digest": found["digest"], "by": f"{BY} ({_user()})"[:60]}
        return computer.post(f"/approvals{path_of(found['id'])}", sent)

    answer(context, as_json, send, views.decided)
