"""What the document server uses besides Python packages: LibreOffice, for files of Office 97-2003."""

from __future__ import annotations

import asyncio

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options


async def check_documents(options: Options, report: Report) -> None:
    """Report whether doc and ppt can be read."""
    from a2c_documents.workers.libreoffice import HOW_TO_INSTALL, PROGRAM, find_program

    try:
        program = await asyncio.to_thread(find_program)
    except FileNotFoundError as error:
        report.fail(f"{PROGRAM}: no such program: {error}", "correct it, or unset it to search for LibreOffice")
        return
    if program is None:
        report.note("LibreOffice is not installed or turned off: doc and ppt cannot be read", HOW_TO_INSTALL)
    else:
        report.ok(f"LibreOffice reads doc and ppt: {program}")
