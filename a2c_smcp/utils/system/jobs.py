"""Windows' job objects: a process together with everything that it starts.

Structures, numbers and signatures are those of `winnt.h` and `jobapi2.h`. The structures use types of fixed size, not
`ctypes.wintypes`, so that their layout can be tested on any system.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_int64, c_size_t, c_uint32, c_uint64

LIMIT_PROCESS_MEMORY = 0x0100
LIMIT_KILL_ON_JOB_CLOSE = 0x2000
_ACCOUNTING, _EXTENDED_LIMITS = 1, 9  # JOBOBJECTINFOCLASS


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = [
        ("PerProcessUserTimeLimit", c_int64),
        ("PerJobUserTimeLimit", c_int64),
        ("LimitFlags", c_uint32),
        ("MinimumWorkingSetSize", c_size_t),
        ("MaximumWorkingSetSize", c_size_t),
        ("ActiveProcessLimit", c_uint32),
        ("Affinity", c_size_t),
        ("PriorityClass", c_uint32),
        ("SchedulingClass", c_uint32),
    ]


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION; the six counters in its middle are its IO_COUNTERS."""

    _fields_ = [
        ("BasicLimitInformation", BasicLimits),
        ("IoInfo", c_uint64 * 6),
        ("ProcessMemoryLimit", c_size_t),
        ("JobMemoryLimit", c_size_t),
        ("PeakProcessMemoryUsed", c_size_t),
        ("PeakJobMemoryUsed", c_size_t),
    ]
    BasicLimitInformation: BasicLimits
    ProcessMemoryLimit: int


class Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = [
        ("TotalUserTime", c_int64),
        ("TotalKernelTime", c_int64),
        ("ThisPeriodTotalUserTime", c_int64),
        ("ThisPeriodTotalKernelTime", c_int64),
        ("TotalPageFaultCount", c_uint32),
        ("TotalProcesses", c_uint32),
        ("ActiveProcesses", c_uint32),
        ("TotalTerminatedProcesses", c_uint32),
    ]
    ActiveProcesses: int


def limits(process_memory: int = 0) -> ExtendedLimits:
    """The limits of a job whose processes end with its last handle, each with at most this much memory (0: any)."""
    wanted = ExtendedLimits()
    wanted.BasicLimitInformation.LimitFlags = LIMIT_KILL_ON_JOB_CLOSE
    if process_memory:
        wanted.BasicLimitInformation.LimitFlags |= LIMIT_PROCESS_MEMORY
        wanted.ProcessMemoryLimit = process_memory
    return wanted


if sys.platform == "win32":
    from ctypes.wintypes import BOOL, DWORD, HANDLE, LPCWSTR, LPVOID, UINT

    _PROCESS_TERMINATE, _PROCESS_SET_QUOTA, _SYNCHRONIZE = 0x0001, 0x0100, 0x0010_0000
    _INFINITE = 0xFFFF_FFFF

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    for _name, _result, _arguments in (
        ("CreateJobObjectW", HANDLE, (LPVOID, LPCWSTR)),
        ("SetInformationJobObject", BOOL, (HANDLE, ctypes.c_int, LPVOID, DWORD)),
        ("QueryInformationJobObject", BOOL, (HANDLE, ctypes.c_int, LPVOID, DWORD, LPVOID)),
        ("AssignProcessToJobObject", BOOL, (HANDLE, HANDLE)),
        ("TerminateJobObject", BOOL, (HANDLE, UINT)),
        ("OpenProcess", HANDLE, (DWORD, BOOL, DWORD)),
        ("WaitForSingleObject", DWORD, (HANDLE, DWORD)),
        ("CloseHandle", BOOL, (HANDLE,)),
    ):
        # Without them ctypes takes results and integers for C ints, and cuts 64-bit handles in half.
        _function = getattr(_kernel32, _name)
        _function.restype, _function.argtypes = _result, _arguments

    def _check(result: int | None) -> int:
        if not result:
            raise ctypes.WinError(ctypes.get_last_error())
        return result

    def _open_process(pid: int, access: int) -> int:
        return _check(_kernel32.OpenProcess(access, False, pid))

    class Job:
        """A job. Its processes, and everything that they start, end when it is closed, or when our process ends and
        the system closes our handle."""

        def __init__(self, process_memory: int = 0) -> None:
            self._handle = _check(_kernel32.CreateJobObjectW(None, None))
            wanted = limits(process_memory)
            _check(
                _kernel32.SetInformationJobObject(
                    self._handle, _EXTENDED_LIMITS, ctypes.byref(wanted), ctypes.sizeof(wanted)
                )
            )

        def add(self, pid: int) -> None:
            """Put a process into the job. What it has started before that stays outside.

            Raises:
                OSError: the process has ended, or belongs to another user.
            """
            process = _open_process(pid, _PROCESS_SET_QUOTA | _PROCESS_TERMINATE)
            try:
                _check(_kernel32.AssignProcessToJobObject(self._handle, process))
            finally:
                _kernel32.CloseHandle(process)

        def count(self) -> int:
            """How many of its processes run."""
            found = Accounting()
            _check(
                _kernel32.QueryInformationJobObject(
                    self._handle, _ACCOUNTING, ctypes.byref(found), ctypes.sizeof(found), None
                )
            )
            return found.ActiveProcesses

        def kill(self) -> None:
            """End all of its processes."""
            _kernel32.TerminateJobObject(self._handle, 1)

        def close(self) -> None:
            """Close the job, which ends the processes that are left in it."""
            handle, self._handle = self._handle, 0
            if handle:
                _kernel32.CloseHandle(handle)

    def wait_for_process(pid: int) -> None:
        """Return when a process has ended.

        Raises:
            OSError: it cannot be observed; mostly because it has ended already.
        """
        process = _open_process(pid, _SYNCHRONIZE)
        try:
            _kernel32.WaitForSingleObject(process, _INFINITE)
        finally:
            _kernel32.CloseHandle(process)
