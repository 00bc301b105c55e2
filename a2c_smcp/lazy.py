"""Imports on first use, so that a program does not wait for modules that it does not need."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazily(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package; `names` has, for each module, the names that come from it."""
    # Python calls it only for names that the package does not have.
    homes = {name: module for module, contributed in names.items() for name in contributed}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load


def import_soon(module: str) -> None:
    """Import a module in a thread, while the program does something else."""

    # Code that needs the module earlier waits for this thread: Python locks each module during its import.
    def work() -> None:
        with contextlib.suppress(ImportError):  # the code that needs the module gets the error
            importlib.import_module(module)

    threading.Thread(target=work, name=f"import {module}", daemon=True).start()
