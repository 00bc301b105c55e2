"""W3C trace context."""

from __future__ import annotations

import subprocess
import sys

import pytest

from a2c_smcp.utils.tracing import is_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize("text", [f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00", f"cc-{TRACE}-{SPAN}-ff"])
def test_a_valid_traceparent(text: str) -> None:
    assert is_traceparent(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01-extra",
        f"00-{TRACE}-{SPAN}-01\n",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"٠٠-{TRACE}-{SPAN}-01",
    ],
)
def test_an_invalid_traceparent(text: str) -> None:
    assert not is_traceparent(text)


@pytest.mark.process
def test_a_program_without_opentelemetry_does_not_import_it() -> None:
    check = (
        "import sys; from a2c_smcp.utils.tracing import active_traceparent; assert active_traceparent() is None;"
        "import a2c_smcp.agent.client, a2c_smcp.agent.sync_client;"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
