"""The page of events and payloads in Python."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from a2c_smcp import smcp

from .markdown import code, table

INTRODUCTION = """\
# Python: events and payloads

This page lists the names in `a2c_smcp.smcp`, for programs that use Socket.IO directly. [The
protocol](../../protocol.md) describes when each event is sent. Payloads are `TypedDict`s, which are plain
dictionaries at run time.
"""


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            INTRODUCTION,
            "## Events\n",
            table(("name", "value"), [(code(name), code(value)) for name, value in _events()]),
            "## Payloads\n",
            table(("name", "fields"), [(code(name), "<br>".join(fields)) for name, fields in _shapes().items()]),
        ]
    )


def names() -> set[str]:
    """Return the names that the page describes."""
    return {name for name, _ in _events()} | set(_shapes())


def _body() -> list[ast.stmt]:
    return ast.parse(inspect.getsource(smcp)).body


def _events() -> Iterator[tuple[str, str]]:
    for node in _body():
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(value))):
                yield name, value
            case _:
                pass


def _shapes() -> dict[str, list[str]]:
    """Return the fields of each payload, including those of its bases; for a union, its members."""
    found: dict[str, list[str]] = {}
    for node in _body():
        match node:
            case ast.ClassDef(name=name):
                bases = [field for base in node.bases for field in found.get(ast.unparse(base), [])]
                found[name] = [*bases, *(_field(each) for each in node.body if isinstance(each, ast.AnnAssign))]
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
            ):
                found[name] = [f"is {code(ast.unparse(value))}"]
            case _:
                pass
    return found


def _field(node: ast.AnnAssign) -> str:
    return f"{code(ast.unparse(node.target))}: {code(ast.unparse(node.annotation))}".replace("'", '"')
