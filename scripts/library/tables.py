"""`data/`: the stock as a table, the machines as JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from library.figures import COMPANY, COUNTED, GREEN, MACHINES, ROASTING_LOSS

PACKAGING = (
    ("P-01", "Valve bag 250 g", 6_200, 4_000, 0.21),
    ("P-02", "Valve bag 1 kg", 1_850, 1_500, 0.34),
    ("P-03", "Label Ridgeline Ethiopia", 900, 1_000, 0.06),
    ("P-04", "Carton for 12 bags", 410, 300, 0.78),
)


def inventory() -> bytes:
    """What was counted in the store."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["Code", "Item", "Kind", "Origin", "Quantity", "Unit", "Reorder at", "Unit cost (EUR)", "Counted"])
    for coffee in GREEN:
        amounts = [coffee.in_stock, "kg", coffee.reorder_at, f"{coffee.price:.2f}", COUNTED]
        writer.writerow([coffee.code, coffee.name, "green coffee", coffee.origin, *amounts])
    for code, item, quantity, reorder_at, cost in PACKAGING:
        writer.writerow([code, item, "packaging", "", quantity, "pcs", reorder_at, f"{cost:.2f}", COUNTED])
    return target.getvalue().encode()


def machines() -> bytes:
    """The roasting machines; the planner in `tools/` reads them."""
    listed: list[dict[str, Any]] = [
        {
            "name": machine.name,
            "model": machine.model,
            "batch_kg": machine.batch_kilograms,
            "minutes_per_batch": machine.minutes,
            "bought": machine.bought,
            "last_service": machine.serviced.isoformat(),
        }
        for machine in MACHINES
    ]
    described = {
        "title": "Roasting machines",
        "description": f"The machines of {COMPANY}: how much green coffee a batch takes, and how long it lasts.",
        "roasting_loss": ROASTING_LOSS,
        "machines": listed,
    }
    return (json.dumps(described, ensure_ascii=False, indent=2) + "\n").encode()
