"""`tools/roast_planner.py`: a script of the roastery, which works on the other files."""

from __future__ import annotations

_SOURCE = '''\
"""Plan a roast: how many batches, how much green coffee, how long.

For example: python tools/roast_planner.py 500 --machine R2
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

MACHINES = Path(__file__).parent.parent / "data" / "machines.json"


@dataclass(frozen=True)
class Plan:
    """Batches of equal size."""

    batches: int
    green_kg: float
    minutes: int

    @property
    def batch_kg(self) -> float:
        """Green coffee in each batch."""
        return self.green_kg / self.batches


def plan(roasted_kg: float, machine: dict, loss: float) -> Plan:
    """The fewest batches that give so much roasted coffee."""
    green_kg = roasted_kg / (1 - loss)
    batches = math.ceil(green_kg / machine["batch_kg"])
    return Plan(batches, green_kg, batches * machine["minutes_per_batch"])


def main() -> None:
    """Print the plan for the machine that was asked for."""
    known = json.loads(MACHINES.read_text("utf-8"))
    machines = {machine["name"]: machine for machine in known["machines"]}
    parser = argparse.ArgumentParser(description="Plan a roast.")
    parser.add_argument("kilograms", type=float, help="roasted coffee that is wanted")
    parser.add_argument("--machine", choices=machines, default="R2")
    wanted = parser.parse_args()
    made = plan(wanted.kilograms, machines[wanted.machine], known["roasting_loss"])
    print(f"{made.batches} batches of {made.batch_kg:.1f} kg on {wanted.machine}")
    print(f"{made.green_kg:.0f} kg of green coffee, {made.minutes / 60:.1f} hours of roasting")


if __name__ == "__main__":
    main()
'''


def planner() -> bytes:
    """The script."""
    return _SOURCE.encode()
