"""The base of a Computer, where programs written for the protocol's documents look for it.

There is one kind of Computer: what varies is given to its constructor, and a program may subclass it.
"""

from __future__ import annotations

from a2c_smcp.computer.computer import Computer

BaseComputer = Computer

__all__ = ["BaseComputer", "Computer"]
