"""The limits of this process and the state of the machine: memory, open files, load."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from ctypes import c_uint32, c_uint64
from pathlib import Path

MANY_FILES = 1_048_576
"""The number to request if the system sets no limit: some systems reject "unlimited"."""
FILES_ON_WINDOWS = 10_000
"""Windows limits handles by memory only. This is a number that no Server on it reaches."""


class MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of Windows' `sysinfoapi.h`."""

    _fields_ = [
        ("dwLength", c_uint32),
        ("dwMemoryLoad", c_uint32),
        ("ullTotalPhys", c_uint64),
        ("ullAvailPhys", c_uint64),
        ("ullTotalPageFile", c_uint64),
        ("ullAvailPageFile", c_uint64),
        ("ullTotalVirtual", c_uint64),
        ("ullAvailVirtual", c_uint64),
        ("ullAvailExtendedVirtual", c_uint64),
    ]
    dwLength: int
    ullTotalPhys: int
    ullAvailPhys: int


if sys.platform == "win32":
    from a2c_smcp.utils.system.jobs import Job

    _own_job: list[Job] = []  # kept until the process ends: closing the job would end us

    def limit_memory(max_bytes: int) -> None:
        """Let allocations of this process fail beyond this number of bytes; 0 sets no limit."""
        if max_bytes:
            with contextlib.suppress(OSError):
                job = Job(max_bytes)
                _own_job.append(job)
                job.add(os.getpid())

    def raise_open_files() -> int:
        """Raise the limit of open files as far as the system allows; return it."""
        return FILES_ON_WINDOWS

    def load_average() -> tuple[float, ...]:
        """The load over 1, 5 and 15 minutes; empty if the system does not report it."""
        return ()

    def resident_bytes(pid: int) -> int:
        """The memory that a process uses; 0 if the system does not report it."""
        return 0

    def memory_use() -> tuple[int, int] | None:
        """Bytes in use and in all; None if the system does not report them."""
        status = MemoryStatus()
        status.dwLength = ctypes.sizeof(status)
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None
        return status.ullTotalPhys - status.ullAvailPhys, status.ullTotalPhys

else:
    import resource

    def limit_memory(max_bytes: int) -> None:
        """Let allocations of this process fail beyond this number of bytes; 0 sets no limit."""
        if max_bytes:
            with contextlib.suppress(OSError, ValueError):  # macOS rejects it
                resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))

    def raise_open_files() -> int:
        """Raise the limit of open files as far as the system allows; return it."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = hard if hard != resource.RLIM_INFINITY else max(soft, MANY_FILES)
        if soft < wanted:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    def load_average() -> tuple[float, ...]:
        """The load over 1, 5 and 15 minutes; empty if the system does not report it."""
        return os.getloadavg()

    def resident_bytes(pid: int) -> int:
        """The memory that a process uses; 0 if the system does not report it."""
        try:
            return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            return 0

    def memory_use() -> tuple[int, int] | None:
        """Bytes in use and in all; None if the system does not report them."""
        try:
            rows = (line.split() for line in Path("/proc/meminfo").read_text("ascii").splitlines())
            amounts = {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}
            return amounts["MemTotal"] - amounts["MemAvailable"], amounts["MemTotal"]
        except (OSError, KeyError, ValueError, IndexError):
            return None
