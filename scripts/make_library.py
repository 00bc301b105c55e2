# /// script
# requires-python = ">=3.11"
# dependencies = ["matplotlib", "pillow>=11", "python-docx>=1.2", "python-pptx>=1", "reportlab>=4", "xlsxwriter>=3.2"]
# ///
"""Make the files of `examples/library`: what `a2c up` shows to somebody who has no folder at hand.

`uv run scripts/make_library.py`, or with any Python that has the packages above. A second run gives the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from library.contract import contract
from library.mail import mail
from library.notebook import notebook
from library.papers import about, handbook, ideas, standup
from library.pictures import label, storefront
from library.planner import planner
from library.report import report
from library.slides import slides
from library.tables import inventory, machines
from library.workbook import workbook

FOLDER = Path(__file__).parent.parent / "examples" / "library"
FILES: dict[str, Callable[[], bytes]] = {
    "ABOUT.md": about,
    "analysis/roast-curve.ipynb": notebook,
    "contracts/supply-agreement.docx": contract,
    "data/inventory.csv": inventory,
    "data/machines.json": machines,
    "docs-zh/烘焙手册.md": handbook,
    "mail/supplier-delay.eml": mail,
    "notes/ideas.txt": ideas,
    "notes/standup.md": standup,
    "pictures/label.svg": label,
    "pictures/storefront.png": storefront,
    "reports/q3-report.pdf": report,
    "sales-2026.xlsx": workbook,
    "slides/board-meeting.pptx": slides,
    "tools/roast_planner.py": planner,
}


def main() -> None:
    """Write the files into `examples/library`, or into a folder that is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, make in FILES.items():
        target, content = folder / name, make()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        print(f"{len(content):7,}  {name}")


if __name__ == "__main__":
    main()
