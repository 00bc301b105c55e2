"""`a2c completion`: what a shell needs in order to complete commands and options.

The shell runs `a2c` on Tab, which answers from its own table of commands, without a network and before anything heavy
is imported. Where `a2c` has nothing to suggest, the shell suggests file names.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import (  # what `--show-completion` of typer's own does
    completion_init,  # pyright: ignore[reportPrivateImportUsage]
    get_completion_script,  # pyright: ignore[reportPrivateImportUsage]
)

PROGRAM = "a2c"
VARIABLE = "_A2C_COMPLETE"
"""Set by the shell's script when it asks."""


class Shell(StrEnum):
    """A shell that can ask."""

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
    """Know the shells, if one of them asks."""
    if VARIABLE in os.environ:
        completion_init()
