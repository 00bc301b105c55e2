"""The part of watchfiles that we use. Its own annotations name trio, which is not installed."""

from collections.abc import AsyncGenerator, Callable
from enum import IntEnum
from pathlib import Path

class Change(IntEnum):
    added = 1
    modified = 2
    deleted = 3

def awatch(
    *paths: Path | str,
    watch_filter: Callable[[Change, str], bool] | None = ...,
    debounce: int = ...,
    step: int = ...,
    rust_timeout: int | None = ...,
    yield_on_timeout: bool = ...,
    recursive: bool = ...,
    ignore_permission_denied: bool | None = ...,
) -> AsyncGenerator[set[tuple[Change, str]]]: ...
