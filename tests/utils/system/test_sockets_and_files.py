"""Sockets that another process takes over; folders that one process owns; files that are replaced."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from a2c_smcp.utils.system.files import lock_folder, others_may_read, replace_file
from a2c_smcp.utils.system.sockets import bind, hand_over, inheriting
from tests.support.systems import posix_only

GREETER = (
    "from a2c_smcp.utils.system.sockets import take_over;"
    "connection, _ = take_over(input()).accept(); connection.sendall(b'hello'); connection.close()"
)


def test_a_port_that_is_in_use_is_not_taken() -> None:
    with bind("127.0.0.1", 0) as listener:
        listener.listen()
        with pytest.raises(OSError, match=r"in use|forbidden|permitted"):
            bind("127.0.0.1", listener.getsockname()[1])


@pytest.mark.parametrize("restart", [1, 2])
def test_a_child_takes_over_a_socket_even_after_another(restart: int) -> None:
    with bind("127.0.0.1", 0) as listener:
        listener.listen()
        for _ in range(restart):
            with subprocess.Popen(
                [sys.executable, "-c", GREETER], stdin=subprocess.PIPE, text=True, **inheriting(listener)
            ) as child:
                assert child.stdin is not None
                child.stdin.write(hand_over(listener, child.pid) + "\n")
                child.stdin.close()
                with socket.create_connection(listener.getsockname(), timeout=20) as connection:
                    assert connection.recv(100) == b"hello"


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first = lock_folder(tmp_path)
    assert first is not None
    assert lock_folder(tmp_path) is None
    os.close(first)
    second = lock_folder(tmp_path)
    assert second is not None
    os.close(second)


def test_a_folder_that_is_not_there_has_no_owner(tmp_path: Path) -> None:
    assert lock_folder(tmp_path / "missing") is None


@posix_only
def test_a_link_to_a_folder_is_not_owned(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert lock_folder(tmp_path / "link") is None


@posix_only
def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("old")
    file.chmod(0o640)
    assert others_may_read(file)
    replace_file(file, b"new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o640)
    file.chmod(0o600)
    assert not others_may_read(file)


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing", b"")
    assert not list(tmp_path.iterdir())
