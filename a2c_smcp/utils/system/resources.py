"""The limits of this process and the state of the machine: memory, open files, load."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Sequence
from ctypes import c_uint32, c_uint64
from pathlib import Path
from typing import NoReturn

MANY_FILES = 1_048_576
"""The number to request if the system sets no limit: some systems reject "unlimited"."""
_NEW_USER, _NEW_NETWORK = 0x1000_0000, 0x4000_0000  # CLONE_NEWUSER, CLONE_NEWNET
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of glibc's malloc.h
KEPT_BYTES, KEPT_BLOCK_BYTES = 16_000_000, 4_000_000
"""Freed memory that `keep_freed_memory` keeps, and the size from which on a block is returned to the system."""
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
    import subprocess

    from a2c_smcp.utils.system.jobs import Job

    _own_job: list[Job] = []  # kept until the process ends: closing the job would end us

    def limit_memory(max_bytes: int) -> None:
        """Let allocations of this process fail beyond this number of bytes; 0 sets no limit."""
        if max_bytes:
            with contextlib.suppress(OSError):
                job = Job(max_bytes)
                _own_job.append(job)
                job.add(os.getpid())

    def limit_file_size(max_bytes: int) -> None:
        """Windows has no such limit."""

    def leave_network() -> None:
        """Windows cannot take the network from a process."""

    def run_instead(command: Sequence[str]) -> NoReturn:
        """Run a program, and end with its exit code. It shares our job and its limits."""
        sys.exit(subprocess.call(list(command)))

    def raise_open_files() -> int:
        """Raise the limit of open files as far as the system allows; return it."""
        return FILES_ON_WINDOWS

    def keep_freed_memory() -> None:
        """Windows keeps it anyway."""

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

    def limit_file_size(max_bytes: int) -> None:
        """Let this process write no file beyond this number of bytes."""
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))

    def leave_network() -> None:
        """Leave the network, on Linux and where the system allows it: this process can then reach no address."""
        user, group = os.getuid(), os.getgid()
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None, use_errno=True)
            # Users other than root need a user namespace of their own, in which they keep their numbers.
            if library.unshare(_NEW_NETWORK) == 0 or library.unshare(_NEW_USER | _NEW_NETWORK) != 0:
                return
            Path("/proc/self/setgroups").write_text("deny", "ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")

    def run_instead(command: Sequence[str]) -> NoReturn:
        """Become another program."""
        os.execv(command[0], list(command))

    def raise_open_files() -> int:
        """Raise the limit of open files as far as the system allows; return it."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = hard if hard != resource.RLIM_INFINITY else max(soft, MANY_FILES)
        if soft < wanted:
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    def keep_freed_memory() -> None:
        """Keep some of the memory that this process frees, for the next large message; on Linux with glibc."""
        # glibc returns a free end of its heap to the system as soon as it has a few hundred kB. A message of 500 kB is
        # copied several times on its way, so each message would get all its memory anew, page by page. That takes the
        # Server twice as long as all its own work with the message.
        with contextlib.suppress(OSError, AttributeError):
            allocator = ctypes.CDLL(None)
            allocator.mallopt(_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
            allocator.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)

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
