"""The benchmarks run; what they measure is for `make bench` to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("part", ["joining"])
def test_a_quick_run_prints_its_table(part: str) -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--no-fail", "--only", part]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert "targets met" in outcome.stdout
