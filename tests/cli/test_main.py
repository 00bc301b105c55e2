"""The `a2c` command itself: its help, and what a shell completes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from a2c_smcp.cli.main import app
from tests.support.process import A2C, a2c
from tests.support.systems import posix_only
from tests.support.terminal import CTRL_U, ENTER, TAB, terminal


def test_a_flag_is_shown_without_a_type() -> None:
    shown = a2c("doctor", "--help").stdout
    assert re.search(r"--json +Print JSON", shown)
    assert re.search(r"--start +--no-start +Start the MCP", shown)
    assert re.search(r"--help +-h +Show this", shown)
    assert re.search(r"--url +<str> +Server to check", shown)
    assert "<bool>" not in shown


def test_a_shell_is_told_every_command() -> None:
    ask = {"_A2C_COMPLETE": "complete_bash", "COMP_WORDS": "a2c ", "COMP_CWORD": "1"}
    assert set(a2c(env=ask).stdout.split()) == set(getattr(get_command(app), "commands", {}))


@pytest.mark.parametrize(
    ("shell", "line", "says"),
    [
        ("zsh", "a2c agent --answ", '"--answer-timeout":"'),
        ("fish", "a2c agent --answ", "--answer-timeout\tSeconds"),
        ("zsh", "a2c config check mc", "_files"),
    ],
)
def test_other_shells_are_answered_in_their_form(shell: str, line: str, says: str) -> None:
    script = a2c("completion", shell).stdout
    assert f"_A2C_COMPLETE=complete_{shell}" in script
    ask = {
        "_A2C_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert says in a2c(env=ask).stdout


def test_a_shell_that_is_not_known_is_one_clear_error() -> None:
    refused = a2c("completion", "tcsh")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "tcsh" in refused.stderr


@posix_only
def test_tab_in_bash_completes_commands_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "notes.json").touch()
    (tmp_path / "a2c").write_text(f'#!/bin/sh\nexec {" ".join(A2C)} "$@"\n')
    (tmp_path / "a2c").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "PS1": "$ ", "PYTHONPATH": os.pathsep.join(sys.path)}
    bash = ("/usr/bin/env", "-C", str(tmp_path), "bash", "--norc", "--noprofile", "-i")
    with terminal(tmp_path, prompt="$", env=env, program=bash) as shell:
        shell.see_prompt()
        shell.type('eval "$(a2c completion bash)"; echo ready' + ENTER)
        shell.see("^ready$")
        shell.see_prompt()
        for typed, completed in (
            ("a2c doct", "a2c doctor"),
            ("a2c agent --answ", "a2c agent --answer-timeout"),
            ("a2c agent read --mark", "a2c agent read --markdown"),
            ("a2c config check no", "a2c config check notes.json"),
        ):
            shell.type(typed + TAB)
            shell.see_prompt(completed)
            shell.type(CTRL_U)
            shell.see_prompt()
