"""Which tests run on which system. A test without a mark runs on Linux, macOS and Windows."""

from __future__ import annotations

import signal
import sys

import pytest

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux only: it needs /proc, or limits that Linux has")
posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="not for Windows: it sends POSIX signals, or needs modes of files or a POSIX shell"
)
SIGKILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows does not have it, but has to import the modules whose tests name it."""


def need_posix(what: str) -> None:
    """Skip the whole test module that is being imported, on Windows, for want of something."""
    if sys.platform == "win32":
        pytest.skip(f"not for Windows: it needs {what}", allow_module_level=True)
