"""Windows' structures, checked on any 64-bit system: their sizes and offsets are those of the Windows headers."""

from __future__ import annotations

import ctypes

import pytest

from a2c_smcp.utils.system import jobs
from a2c_smcp.utils.system.resources import MemoryStatus

pytestmark = pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the numbers are those of 64 bits")


@pytest.mark.parametrize(
    ("structure", "size"),
    [(jobs.BasicLimits, 64), (jobs.ExtendedLimits, 144), (jobs.Accounting, 48), (MemoryStatus, 64)],
)
def test_structures_have_the_size_that_windows_checks(structure: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(structure) == size


@pytest.mark.parametrize(
    ("structure", "name", "offset"),
    [
        (jobs.BasicLimits, "LimitFlags", 16),
        (jobs.BasicLimits, "ActiveProcessLimit", 40),
        (jobs.BasicLimits, "SchedulingClass", 60),
        (jobs.ExtendedLimits, "IoInfo", 64),
        (jobs.ExtendedLimits, "ProcessMemoryLimit", 112),
        (jobs.Accounting, "ActiveProcesses", 40),
        (MemoryStatus, "ullAvailPhys", 16),
    ],
)
def test_fields_are_where_windows_reads_them(structure: type[ctypes.Structure], name: str, offset: int) -> None:
    assert getattr(structure, name).offset == offset


def test_a_job_ends_its_processes_when_it_is_closed() -> None:
    wanted = jobs.limits()
    assert wanted.BasicLimitInformation.LimitFlags == jobs.LIMIT_KILL_ON_JOB_CLOSE
    assert wanted.ProcessMemoryLimit == 0


def test_a_job_limits_the_memory_of_each_process() -> None:
    wanted = jobs.limits(2_000_000_000)
    assert wanted.BasicLimitInformation.LimitFlags == jobs.LIMIT_KILL_ON_JOB_CLOSE | jobs.LIMIT_PROCESS_MEMORY
    assert wanted.ProcessMemoryLimit == 2_000_000_000
