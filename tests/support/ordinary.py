"""Tests of file permissions: they do not apply to root, so root runs them without its privileges."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


def without_privileges(request: pytest.FixtureRequest, tmp_path: Path) -> bool:
    """Whether this process has no privileges. If it has, the test runs in another process that has none, and must pass
    there."""
    if not is_root:
        return True
    if shutil.which("unshare") is None:
        pytest.skip("root may read and write everything, and there is no unshare to give up its privileges")
    pytest_again = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    outcome = subprocess.run(
        ["unshare", "--user", *pytest_again, f"--basetemp={tmp_path / 'again'}", request.node.nodeid],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "1 passed" in outcome.stdout
    return False
