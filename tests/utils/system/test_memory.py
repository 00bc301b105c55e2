"""Memory that a process keeps for its next large message."""

from __future__ import annotations

import subprocess
import sys

from tests.support.systems import linux_only

MESSAGES = """
import resource
{}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def pass_on():
    message = bytearray(500_000)
    copies = [bytes(message) for _ in range(6)]
for _ in range(10):
    pass_on()
before = faults()
for _ in range(100):
    pass_on()
print(faults() - before)
"""
KEEPING = "from a2c_smcp.utils.system.resources import keep_freed_memory; keep_freed_memory()"


def faults(first: str) -> int:
    """The pages that a process gets from the system while it copies a hundred messages."""
    return int(subprocess.check_output([sys.executable, "-c", MESSAGES.format(first)]))


@linux_only
def test_a_large_message_uses_the_memory_of_the_one_before() -> None:
    without, kept = faults(""), faults(KEEPING)
    assert kept < 1_000
    assert kept < without / 10
