"""Processes and what they start."""

from __future__ import annotations

import subprocess
import sys
import threading

import psutil
import pytest

from a2c_smcp.utils.system.processes import APART, Guard, ProcessTree, describe_exit

WITH_A_CHILD = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE);"
    "print(child.pid, flush=True); child.wait()"
)
PATIENCE = 20.0


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exited with code 0"), (3, "exited with code 3"), (0xC000_0005, "exited with code 0xc0000005")],
)
def test_how_a_process_ended(code: int, words: str) -> None:
    assert describe_exit(code) == words


@pytest.mark.skipif(sys.platform == "win32", reason="exit codes are never negative there")
@pytest.mark.parametrize(("code", "words"), [(-9, "was killed by SIGKILL"), (-200, "was killed by signal 200")])
def test_which_signal_killed_a_process(code: int, words: str) -> None:
    assert describe_exit(code) == words


def wait_until_dead(tree: ProcessTree) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if not tree.is_alive():
            return
        pause.wait(0.05)
    pytest.fail("some of them still run")


@pytest.mark.parametrize("guarded", [False, True])
def test_a_tree_is_killed_with_everything_in_it(guarded: bool) -> None:
    guard = Guard()
    mark = guard.mark() if guarded else {}
    with subprocess.Popen([sys.executable, "-c", WITH_A_CHILD], stdout=subprocess.PIPE, text=True, **APART) as parent:
        assert parent.stdout is not None
        tree = guard.adopt(parent.pid, mark) if guarded else ProcessTree(parent.pid)
        child = psutil.Process(int(parent.stdout.readline()))
        assert tree.is_alive()
        tree.kill()
        parent.wait(PATIENCE)
        child.wait(PATIENCE)
        wait_until_dead(tree)
        tree.close()
    guard.close()


def test_a_tree_is_asked_to_end_first() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, **APART) as parent:
        tree = ProcessTree(parent.pid)
        assert tree.terminate()
        assert parent.wait(PATIENCE) != 0
        tree.close()
    assert not ProcessTree(parent.pid).terminate()
