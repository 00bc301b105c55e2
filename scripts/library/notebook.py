# pyright: basic, reportMissingImports=false
"""`analysis/roast-curve.ipynb`: text, code, and what the code gave. It is run here, so that the outputs are true."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from typing import Any

import matplotlib

from library.figures import RIDGELINE, ROASTER

SOURCES = (
    ("markdown", f"""\
# Roast curve of {RIDGELINE.name}

Batch 2026-0928-3 on machine R2, 30 kg of Sidama washed. How fast did the temperature rise, and how long was the
development after the first crack?
"""),
    ("code", """\
from itertools import pairwise

minutes = list(range(16))
celsius = [205, 128, 97, 104, 118, 131, 143, 154, 164, 173, 181, 188, 194, 199, 203, 206]
FIRST_CRACK = 12.5

rise = [after - before for before, after in pairwise(celsius)]
turning_point = celsius.index(min(celsius))
print(f"Turning point: {min(celsius)} °C after {turning_point} min")
print(f"First crack:   {FIRST_CRACK} min")
print(f"Development:   {(minutes[-1] - FIRST_CRACK) / minutes[-1]:.1%} of the roast")
"""),
    ("markdown", """\
## The curve

The rise should fall steadily, without a bump before the first crack.
"""),
    ("code", """\
import matplotlib.pyplot as plt

figure, left = plt.subplots(figsize=(6, 3.2))
left.plot(minutes, celsius, color="#5b3a29", label="bean temperature")
left.axvline(FIRST_CRACK, color="#7a8f6a", linestyle="--", label="first crack")
left.set(xlabel="minutes", ylabel="°C", ylim=(80, 220), title="Ridgeline Ethiopia, 28 September 2026")
right = left.twinx()
right.bar(minutes[3:], rise[2:], color="#c98b4b", alpha=0.5, width=0.6)
right.set(ylabel="rise, °C per minute", ylim=(0, 40))
left.legend(loc="upper center")
plt.show()
"""),
    ("markdown", """\
## What to change

- Development of 16.7% is at the lower end; 18% would bring out more sweetness.
- Lower the gas one step at minute 9, so that the last two minutes are slower.
"""),
)  # fmt: skip


def notebook() -> bytes:
    """The notebook, run from top to bottom."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    cells: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(SOURCES):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": _lines(source)}
        if kind == "code":
            count = sum(each["cell_type"] == "code" for each in cells) + 1
            cell |= {"execution_count": count, "outputs": _outputs(source, names)}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"authors": [{"name": ROASTER}], "kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def _lines(source: str) -> list[str]:
    return source.rstrip("\n").splitlines(keepends=True)


def _outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What Jupyter would show below a cell: words that were printed, then the figure."""
    from matplotlib import pyplot

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(source.replace("plt.show()", ""), names)
    outputs: list[dict[str, Any]] = []
    if words := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": words.splitlines(keepends=True)})
    if pyplot.get_fignums():
        target = io.BytesIO()
        figure = pyplot.gcf()
        figure.savefig(target, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        width, height = (round(side * 100) for side in figure.get_size_inches())
        shown = {
            "image/png": base64.b64encode(target.getvalue()).decode(),
            "text/plain": [f"<Figure size {width}x{height} with {len(figure.axes)} Axes>"],
        }
        outputs.append({"data": shown, "metadata": {}, "output_type": "display_data"})
        pyplot.close()
    return outputs
