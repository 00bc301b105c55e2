"""Tables and lines about a Computer that runs. What comes from Agents and MCP servers is shown as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from a2c_smcp.cli.views import escape, quote
from a2c_smcp.utils.text import one_line, printable

View = dict[str, Any]
SHOWN = 80
"""Characters of arguments in a table."""
MAX_SHOWN = 200_000
"""Characters of arguments of one call."""


def approvals(found: list[View]) -> Iterable[RenderableType]:
    """The calls that wait."""
    if not found:
        yield "no calls wait for approval"
        return
    table = Table(
        Column("id", no_wrap=True),
        "tool",
        "server",
        "agent",
        "time left",
        Column("arguments", overflow="fold"),
        box=None,
    )
    for each in found:
        table.add_row(
            each["id"], escape(each["tool"]), escape(each["server"]), escape(_who(each)), _left(each),
            escape(_arguments(each)),
        )  # fmt: skip
    yield table


def approval(each: View) -> Iterable[RenderableType]:
    """One call, with all its arguments."""
    yield Text(one_line(f"{_who(each)} calls {each['tool']} of {each['server']}: {_state(each)}"), style="bold")
    if each["description"]:
        yield from quote(each["description"])
    yield "arguments:"
    yield Text(printable(json.dumps(each["arguments"], indent=2, ensure_ascii=False), MAX_SHOWN))
    last = each["last_arguments"]
    if last is not None:
        yield (
            "the same arguments as in the last call that was approved"
            if last == each["arguments"]
            else _changes(last, each["arguments"])
        )
    yield f"digest: {each['digest']}"
    if (rule := each["always"]) is not None:
        path = ".".join(map(str, rule["path"]))
        yield Text(one_line(f'"always" writes {path}: {json.dumps(rule["value"])} into {rule["file"]}'))


def approval_line(each: View) -> str:
    """One call in one line."""
    when = _clock(each["ended"] or each["requested"])
    what = f"{_who(each)} calls {each['tool']} of {each['server']}"
    return one_line(f"{when}  {each['id']}  {_state(each)}: {what}  {_arguments(each)}")


def decided(answer: View) -> Iterable[RenderableType]:
    """What became of a decision."""
    each = answer["approval"]
    verb = "denied" if each["decision"] == "deny" else "allowed"
    further = {"hour": ", and for an hour", "session": ", and until the Computer stops"}.get(each["decision"], "")
    yield Text(one_line(f"{verb} {each['tool']} of {each['server']}{further}"))
    if each["decision"] == "always":
        yield _saved(answer)


def changed_server(answer: View) -> Iterable[RenderableType]:
    """An MCP server that was restarted, enabled or disabled."""
    yield from servers([answer.get("server", answer)])
    if "saved" in answer:
        yield _saved(answer)


def changed_rule(answer: View) -> Iterable[RenderableType]:
    """A tool with its new rule."""
    each = answer["tool"]
    yield Text(one_line(f"{each['name']} of {each['server']}: {each['rule']} ({_source(each)})"))
    yield _saved(answer)


def _saved(change: View) -> Text:
    """Where a change was written."""
    if change["saved"] is not None:
        return Text(one_line(f"saved to {change['saved']}"))
    return Text(one_line(f"not saved, until the Computer stops: {change['problem'] or 'nothing to save'}"))


def servers(found: list[View]) -> Iterable[RenderableType]:
    """The MCP servers, and their problems."""
    if not found:
        yield "no MCP servers are configured"
        return
    table = Table("server", "type", "state", "since", "tools", "windows", "documents", "restarts", box=None)
    for each in found:
        table.add_row(
            escape(each["name"]), each["type"], each["state"], _clock(each["since"]), str(each["tools"]),
            str(each["windows"]), str(each["documents"]), str(each["restarts"]),
        )  # fmt: skip
    yield table
    for each in found:
        if each["reason"] and each["state"] != "ready":
            yield Text(one_line(f"{each['name']}: {each['reason']}"), style="red")
        for note in each["notes"]:
            yield Text(one_line(f"{each['name']}: {note}"), style="yellow")


def server(each: View) -> Iterable[RenderableType]:
    """One MCP server."""
    yield from servers([each])
    for name in ("server_info", "protocol_version", "pid", "file"):
        if each[name] is not None:
            yield Text(one_line(f"{name.replace('_', ' ')}: {each[name]}"))
    if each["stderr"]:
        yield "standard error:"
        for line in each["stderr"]:
            yield from quote(line)
    for message in each["log"]:
        yield from quote(message["text"], f"{_clock(message['at'])}  {message['level']} ")


def rules(found: list[View]) -> Iterable[RenderableType]:
    """The tools and their rules."""
    if not found:
        yield "no tools"
        return
    table = Table("tool", "server", "rule", "because of", box=None)
    for each in found:
        style = {"run": "green", "ask": "yellow", "forbid": "red"}[each["rule"]]
        table.add_row(
            escape(each["name"]), escape(each["server"]), f"[{style}]{each['rule']}[/]", escape(_source(each))
        )
    yield table


def calls(found: list[View]) -> Iterable[RenderableType]:
    """The last calls."""
    table = Table("when", "took", "tool", "server", "agent", "outcome", Column("arguments", overflow="fold"), box=None)
    for each in found:
        outcome = "[green]ok[/]" if each["is_ok"] else f"[red]{escape(_outcome(each))}[/]"
        table.add_row(
            _clock(each["started"]), _took(each), escape(each["tool"]), escape(each["server"]), escape(_who(each)),
            outcome, escape(one_line(each["arguments"], SHOWN)),
        )  # fmt: skip
    yield table if table.row_count else "no calls yet"


def call_line(each: View) -> str:
    """One call in one line."""
    outcome = "ok" if each["is_ok"] else _outcome(each)
    what = f"{_who(each)} called {each['tool']} of {each['server']}"
    return one_line(f"{_clock(each['started'])}  {what}: {outcome}, {_took(each)}  {each['arguments'][:SHOWN]}")


def _source(each: View) -> str:
    source: str = each["source"]
    words = {"grant": "your permission", "default": "no rule in the configuration"}.get(source, source)
    return f"{words}: {each['detail']}" if each["detail"] else words


def _outcome(each: View) -> str:
    code = f"{each['code']}: " if each["code"] is not None else ""
    return one_line(f"{code}{each['cancelled'] or each['error']}", SHOWN)


def _took(each: View) -> str:
    return f"{each['seconds'] * 1000:.0f} ms" if each["seconds"] < 10 else f"{each['seconds']:.1f} s"


def _who(each: View) -> str:
    if not each["agent"]:
        return "this Computer"
    user = f" for {one_line(each['principal'], 100)}" if each["principal"] is not None else ""
    return f"{each['agent']}{user} ({each['office']})"


def _left(each: View) -> str:
    return f"{each['seconds_left']:.0f} s" if each["seconds_left"] is not None else ""


def _state(each: View) -> str:
    if each["outcome"] == "waiting":
        left = _left(each)
        return f"waits, {left} left" if left else "waits"
    by = f" by {each['decided_by']}" if each["outcome"] in ("allowed", "denied") else ""
    return f"{each['outcome']}{by}"


def _arguments(each: View) -> str:
    if each["arguments"] is None:
        return f"{each['arguments_size']:,} characters"
    return one_line(json.dumps(each["arguments"], ensure_ascii=False), SHOWN)


def _changes(last: View, now: View) -> RenderableType:
    """The arguments that differ from those of the last call."""
    names = [name for name in {**last, **now} if last.get(name) != now.get(name) or (name in last) != (name in now)]
    return Text(one_line(f"changed since the last call that was approved: {', '.join(names)}"), style="yellow")


def _clock(time: str) -> str:
    return datetime.fromisoformat(time).astimezone().strftime("%H:%M:%S")
