"""Checks of the library internals that this project uses: names exist with their signatures, overrides are called."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TYPINGS = Path(__file__).parent.parent.parent / "typings"


def overrides(ours: type, theirs: type) -> set[str]:
    """The methods of a library's class that a class of ours replaces."""
    methods = {
        name for name, value in vars(ours).items() if inspect.isfunction(value) or isinstance(value, classmethod)
    }
    return {name for name in methods if hasattr(theirs, name)}


def watch(monkeypatch: pytest.MonkeyPatch, ours: type, names: set[str], called: set[str]) -> None:
    """Record which of these methods are called, without changing them."""
    for name in names:
        method: Any = vars(ours)[name]
        told = f"{ours.__name__}.{name}"
        if isinstance(method, classmethod):
            monkeypatch.setattr(ours, name, classmethod(_noting(method.__func__, told, called)))  # pyright: ignore[reportUnknownMemberType]
        else:
            monkeypatch.setattr(ours, name, _noting(method, told, called))


def _noting(method: Any, name: str, called: set[str]) -> Any:
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def noting_coroutine(*args: Any, **options: Any) -> Any:
            called.add(name)
            return await method(*args, **options)

        return noting_coroutine

    @functools.wraps(method)
    def noting(*args: Any, **options: Any) -> Any:
        called.add(name)
        return method(*args, **options)

    return noting


def stubbed(package: str) -> Iterator[tuple[str, str, list[tuple[str, bool]] | None]]:
    """Module, name and parameters of each thing in our stubs of a library. Each parameter comes with whether it is
    optional; an attribute has no parameters."""
    for path in sorted((TYPINGS / package).glob("*.pyi")):
        module = package if path.stem == "__init__" else f"{package}.{path.stem}"
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield module, node.target.id, None
            if isinstance(node, ast.ClassDef):
                yield module, node.name, None
                if not node.name.startswith("_"):
                    yield from ((module, f"{node.name}.{name}", rest) for name, rest in _methods(node))


def _methods(node: ast.ClassDef) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name != "__init__":
            given = method.args
            needed = len(given.args) - len(given.defaults)
            plain = [(each.arg, number >= needed) for number, each in enumerate(given.args)][1:]
            stars = [(f"*{each.arg}", True) for each in (given.vararg,) if each]
            yield method.name, [*plain, *stars, *((f"**{each.arg}", True) for each in (given.kwarg,) if each)]


def parameters(function: Any) -> list[tuple[str, bool]]:
    """The parameters of a method without `self`, each with whether it is optional."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        (marks.get(each.kind, "") + each.name, each.kind in marks or each.default is not inspect.Parameter.empty)
        for each in inspect.signature(function).parameters.values()
        if each.name not in ("self", "cls")
    ]
