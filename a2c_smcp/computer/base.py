"""The class `BaseComputer`, under the path that the protocol's documents name.

It is the same class as `Computer`. Programs configure it by arguments of its constructor, or subclass it.
"""

from __future__ import annotations

from a2c_smcp.computer.computer import Computer

BaseComputer = Computer

__all__ = ["BaseComputer", "Computer"]
