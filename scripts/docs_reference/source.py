"""Reads the source of a class or function: its members, their signatures and their docstrings.

Annotations are shown as they are written, independent of the Python version.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, cast

_WIDTH = 100
_SHOWN_DECORATORS = ("classmethod", "staticmethod", "asynccontextmanager", "contextmanager")
_FORM = re.compile(r"async (?=def)|async(?=contextmanager)|Async|Sync|,?\s+")
"""Allowed differences between the signatures of the async and the sync form."""


@dataclass(frozen=True)
class Member:
    """A public method, property or field; or a function."""

    name: str
    signature: str
    doc: str
    is_callable: bool
    default: str = ""
    """Of a field."""

    def is_form_of(self, other: Member) -> bool:
        """Whether the two differ only in `async`."""
        return _FORM.sub("", self.signature) == _FORM.sub("", other.signature)


def members_of(kind: type, bases: Iterable[type] = ()) -> dict[str, Member]:
    """Return the members of a class and of the named bases, in the order of the source."""
    found: dict[str, Member] = {}
    for each in (kind, *bases):
        for member in _members(each):
            found.setdefault(member.name, member)
    return found


def constructor_of(kind: type) -> Member | None:
    """Return the constructor, if the class defines one."""
    for each in kind.__mro__[:-1]:
        if each.__module__.startswith("a2c_smcp"):
            for node in _definition(each).body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    return Member(kind.__name__, _signature(node, each, kind.__name__), "", is_callable=True)
    return None


def function(target: Any) -> Member:
    """Return a function of a module."""
    node = cast("ast.FunctionDef | ast.AsyncFunctionDef", _parsed(target))
    return Member(node.name, _signature(node, target), inspect.getdoc(target) or "", is_callable=True)


def _members(kind: type) -> Iterator[Member]:
    body = _definition(kind).body
    following = {id(node): after for node, after in pairwise(body)}
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if not name.startswith("_"):
                yield _method(node, kind)
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield Member(name, _text(node.annotation), _docstring(following.get(id(node))), False, _default(node))
            case ast.Assign(targets=[ast.Name(id=name)]) if issubclass(kind, Enum):
                yield Member(name, _text(node.value), _docstring(following.get(id(node))), False)
            case _:
                pass


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, kind: type) -> Member:
    doc = inspect.cleandoc(ast.get_docstring(node) or "")
    if any(_text(each) in ("property", "cached_property") for each in node.decorator_list):
        return Member(node.name, _text(node.returns), doc, is_callable=False)
    return Member(node.name, _signature(node, kind), doc, is_callable=True)


def _docstring(node: ast.AST | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return inspect.cleandoc(text)
        case _:
            return ""


def _default(node: ast.AnnAssign) -> str:
    match node.value:
        case ast.Call(keywords=[*keywords]):  # `field(default=…)`
            return next((_text(each.value) for each in keywords if each.arg == "default"), "")
        case _:
            return _text(node.value)


@functools.cache
def _parsed(target: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(target))).body[0]


def _definition(kind: type) -> ast.ClassDef:
    return cast("ast.ClassDef", _parsed(kind))


def _text(node: ast.AST | None) -> str:
    return ast.unparse(node).replace("'", '"') if node is not None else ""


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Any, as_name: str | None = None) -> str:
    """Return a signature without `self`, on one line if it fits; `as_name` is the name of a constructor."""
    arguments = [each for each in _arguments(node.args, owner) if each not in ("self", "cls")]
    decorators = [f"@{name}\n" for each in node.decorator_list if (name := _text(each)) in _SHOWN_DECORATORS]
    keyword = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    start = "".join(decorators) + (as_name or keyword + node.name)
    end = "" if as_name else f" -> {_text(node.returns)}"
    line = f"{start}({', '.join(arguments)}){end}"
    if len(line.rpartition("\n")[2]) <= _WIDTH:
        return line
    return f"{start}(\n" + "".join(f"    {each},\n" for each in arguments) + f"){end}"


def _arguments(arguments: ast.arguments, owner: Any) -> Iterator[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        yield _argument(argument, default, owner)
    if arguments.vararg is not None:
        yield f"*{_text(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(argument, default, owner)
    if arguments.kwarg is not None:
        yield f"**{_text(arguments.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None, owner: Any) -> str:
    if default is None:
        return _text(argument)
    sign = " = " if argument.annotation is not None else "="
    return f"{_text(argument)}{sign}{_value(default, owner)}"


def _value(default: ast.expr, owner: Any) -> str:
    """Return a default; for a constant, its value instead of its name."""
    if isinstance(default, ast.Name | ast.Attribute):
        value = eval(ast.unparse(default), vars(sys.modules[owner.__module__]))
        if isinstance(value, str | int | float):
            return repr(value).replace("'", '"')
    return _text(default)
