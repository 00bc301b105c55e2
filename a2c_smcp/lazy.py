"""Names of a package that are imported when they are first used: what a program does not need costs it no time."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazily(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `names` says what its modules, and those of others, contribute."""
    homes = {name: module for module, contributed in names.items() for name in contributed}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load


def import_soon(module: str) -> None:
    """Import a module in a thread: by the time it is needed, it is there, or has begun to be."""

    def work() -> None:
        with contextlib.suppress(ImportError):  # whoever needs it hears of that
            importlib.import_module(module)

    threading.Thread(target=work, name=f"import {module}", daemon=True).start()
