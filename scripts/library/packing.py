"""Office files are archives that say when they were packed. Ours say the same: a second run gives the same bytes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

from library.figures import REPORTED

_WHEN = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def repacked(packed: bytes) -> bytes:
    """The same archive, packed on the day of the report."""
    return rewritten(packed, lambda name, part: _chart_data(part) if name.endswith(".xlsx") else part)


def _chart_data(packed: bytes) -> bytes:
    """A workbook that a chart brings along; when it was made, nobody else sets."""
    when = f"{REPORTED:%Y-%m-%dT%H:%M:%SZ}".encode()
    return rewritten(packed, lambda name, part: _WHEN.sub(when, part) if name == "docProps/core.xml" else part)


def rewritten(packed: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The same, with what `change` makes of each part."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as source, zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, REPORTED.timetuple()[:6])
            archive.writestr(entry, change(name, source.read(name)), zipfile.ZIP_DEFLATED, 9)
    return target.getvalue()
