"""`a2c completion`: the script for Tab completion in a shell.

The shell runs `a2c` on Tab. It answers from its table of commands, without a network and without heavy imports. If it
has nothing to suggest, the shell suggests file names.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # as typer's own --show-completion does
    completion_init,  # pyright: ignore[reportPrivateImportUsage]
    get_completion_script,  # pyright: ignore[reportPrivateImportUsage]
)

PROGRAM = "a2c"
VARIABLE = "_A2C_COMPLETE"
"""The environment variable with which the script asks for completions."""


class Shell(StrEnum):
    """A shell with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.", metavar="SHELL")]) -> None:
    """Print the script that lets a shell complete commands, options and file names with Tab.

    bash: eval "$(a2c completion bash)" in ~/.bashrc

    zsh: eval "$(a2c completion zsh)" in ~/.zshrc, after compinit

    fish: a2c completion fish | source in ~/.config/fish/config.fish
    """
    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))


def get_ready() -> None:
    """Register the shells with typer if a shell asks for completions."""
    if VARIABLE in os.environ:
        completion_init()
