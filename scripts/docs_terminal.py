"""Draw `docs/pictures/terminal.svg`: the display of `a2c up`, drawn by its own code. `make docs` runs it."""

from __future__ import annotations

import io
import os
import sys
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console

from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.cli.up.state import Event, OfficeState
from a2c_smcp.cli.up.view import View

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "terminal.svg"
COLUMNS, LINES = 48, 50
"""Narrow enough to be readable on a phone."""
FORMAT = """\
<svg viewBox="0 0 {width} {height:.0f}" width="420" xmlns="http://www.w3.org/2000/svg" role="img">
  <title>A terminal in which a2c up runs</title>
  <style>
    .{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, "DejaVu Sans Mono", monospace }}
    .{unique_id}-title {{ font: bold 20px system-ui, sans-serif }}
    {styles}
  </style>
  <defs>
    <clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
    {lines}
  </defs>
  {chrome}
  <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">{matrix}</g>
  </g>
</svg>
"""
"""The format of rich, but with fonts of the reader's machine: pictures load nothing from other hosts."""


def drawn() -> str:
    """Return the picture as SVG."""
    program = Path(sys.executable).with_name("a2c")
    sys.argv = [str(program)]
    os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    console = Console(file=io.StringIO(), force_terminal=True, record=True, width=COLUMNS, height=LINES)
    console.print(View(_plan(), _state()), "")
    return console.export_svg(title="a2c up", code_format=FORMAT, unique_id="up")


def _plan() -> Plan:
    return Plan(
        host="127.0.0.1",
        port=8000,
        office="demo",
        api_key="my-secret",
        computer="my-laptop",
        folder="/home/ann/Documents",
        is_sample=False,
        journal="",
        sessions="",
    )


def _state() -> OfficeState:
    state = OfficeState("my-laptop", on_event=lambda _: None, on_change=lambda: None, is_serving=True, agent="my-agent")
    state.computers = ("my-laptop",)
    state.servers = [
        _server("documents", tools=3, documents=15),
        _server("machine", windows=2),
        _server("github", tools=26),
    ]
    start = datetime(2026, 11, 15, 9, 41, 2)
    state.events.extend(
        [
            Event(start, "my-laptop joined (Computer)"),
            Event(start + timedelta(seconds=2), "MCP server documents is ready"),
            Event(start + timedelta(seconds=3), "MCP server github is ready"),
            Event(start + timedelta(seconds=37), "my-agent joined (Agent)"),
            Event(start + timedelta(seconds=38), "my-agent listed the documents about sales on my-laptop", "ok", 0.006),
            Event(start + timedelta(seconds=38), "my-agent called search_documents on my-laptop", "ok", 0.013),
            Event(
                start + timedelta(seconds=39), "my-agent read dpe://files/q3-report/pages/1 on my-laptop", "ok", 0.021
            ),
            Event(
                start + timedelta(seconds=41),
                "my-agent called create_issue on my-laptop",
                "failed",
                0.002,
                "error 4005",
            ),
        ]
    )
    return state


def _server(name: str, tools: int = 0, windows: int = 0, documents: int = 0) -> dict[str, object]:
    counts = {"tools": tools, "windows": windows, "documents": documents}
    return {"name": name, "state": "ready", "reason": None, "asking": 0, **counts}


if __name__ == "__main__":
    PICTURE.write_text(drawn(), "utf-8")
