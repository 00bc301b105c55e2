"""The program that ends the children of its parent if the parent is killed. On Windows, job objects do that.

It reads lines from its standard input, whose other end only the parent holds: `+123` reports that process group 123 has
started, `-123` that it has ended. The input ends with the parent, in whatever way that dies. The watchdog then
terminates the groups that are left, and kills them if they do not end. On systems with /proc, it also finds processes
that left their group, by a mark in their environment. It imports only small modules, so that it starts quickly.
"""

import os
import signal
import sys
import time

assert sys.platform != "win32"  # the type checker skips the rest there

MARK = "A2C_PROCESS_MARK"
"""The environment variable of every child, and of everything that it starts."""
GRACE = 2.0
"""Seconds that processes have to end before they are killed."""


def members(groups: set[int], mark: str) -> list[tuple[int, int]]:
    """(pid, group) of the living processes in these groups, or whose environment says `MARK=mark…`."""
    wanted = f"{MARK}={mark}".encode()
    found: list[tuple[int, int]] = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            # The second field is the name of the program in parentheses. It may itself contain spaces and parentheses,
            # so the last one is searched for.
            with open(f"/proc/{name}/stat", "rb") as file:
                state, _, group = file.read().rpartition(b")")[2].split()[:3]
            if state in b"ZX":
                continue
            environment = _environment(name)
        except OSError:
            continue  # it has just ended
        if int(group) in groups or environment.startswith(wanted) or b"\0" + wanted in environment:
            found.append((int(name), int(group)))
    return found


def _environment(name: str) -> bytes:
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            return file.read()
    except PermissionError:  # the process of another user
        return b""


def send(number: int, groups: set[int], mark: str | None) -> bool:
    """Send a signal to the groups and to marked processes; return whether there were any. Signal 0 only checks."""
    targets = [(os.killpg, group) for group in groups]
    found: list[tuple[int, int]] | None = None
    if mark is not None and os.path.isdir("/proc/self"):
        found = members(groups, mark)
        targets += [(os.kill, pid) for pid, group in found if group not in groups]
    anybody = False
    for kill, target in targets:
        try:
            kill(target, number)
            anybody = True
        except (ProcessLookupError, PermissionError):
            pass
    # A group accepts signals until its last process has been reaped by its parent, even if all have ended. Where /proc
    # is available, it shows which of them run.
    return anybody if found is None else bool(found)


def main(mark: str) -> None:
    """Wait for the parent's end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it must outlive what ends the parent
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        (groups.add if line[0] == "+" else groups.discard)(group)
    end = time.monotonic() + GRACE
    alive = send(signal.SIGTERM, groups, mark)
    while alive and time.monotonic() < end:
        time.sleep(0.05)
        alive = send(0, groups, mark)
    if alive:
        send(signal.SIGKILL, groups, mark)


if __name__ == "__main__":
    main(sys.argv[1])
