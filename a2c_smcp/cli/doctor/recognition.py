"""Text recognition in scanned pages: whether it is installed completely."""

from __future__ import annotations

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.utils.extras import how_to_install


async def check_recognition(options: Options, report: Report) -> None:
    """Look for the recognizer and its models. They are not loaded: that takes seconds and a gigabyte."""
    from a2c_documents.recognition.choice import version_of
    from a2c_documents.recognition.models import BrokenModelsError, Models, package_folder

    if package_folder() is None:
        report.note(f"scanned pages are not read: text recognition is not installed; {how_to_install('ocr')} adds it")
        return
    try:
        models = Models.of(None)
    except BrokenModelsError as error:
        report.fail(f"scanned pages cannot be read: {error}", f"install it again: {how_to_install('ocr')}")
        return
    report.ok(f"scanned pages are read by rapidocr {version_of('rapidocr')} with {models.recognition.stem}")
