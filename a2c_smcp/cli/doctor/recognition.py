"""Text recognition in scanned pages: whether it is installed, and whether it can read a line."""

from __future__ import annotations

import base64
import importlib.util
import io
import time

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.utils.extras import how_to_install

_WORDS = "Recognition"


async def check_recognition(options: Options, report: Report) -> None:
    """Start the recognizer, and let it read a small picture."""
    from a2c_documents.recognition.choice import rapid, version_of
    from a2c_documents.recognition.models import BrokenModelsError
    from a2c_documents.workers.failures import ReadingFailed

    if importlib.util.find_spec("PIL") is None:
        report.note("scanned pages are not read: the document server is not installed")
        return
    report.now("loading the models")
    began = time.monotonic()
    try:
        recognizer = rapid().recognizer
        if recognizer is None:
            report.note(
                f"scanned pages are not read: text recognition is not installed; {how_to_install('ocr')} adds it"
            )
            return
        try:
            answer = await recognizer.read(_picture(), "image/png")
        finally:
            await recognizer.close()
    except (BrokenModelsError, ReadingFailed) as error:
        report.fail(f"scanned pages cannot be read: {error}", f"install it again: {how_to_install('ocr')}")
        return
    name = f"rapidocr {version_of('rapidocr')}"
    if _WORDS not in [line["text"] for line in answer["lines"]]:
        report.warn(f"{name} cannot read a clear picture", f"install it again: {how_to_install('ocr')}")
        return
    report.ok(f"scanned pages are read by {name}: starting it and reading a line took {time.monotonic() - began:.1f} s")


def _picture() -> str:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (400, 120), 255)
    ImageDraw.Draw(picture).text((40, 35), _WORDS, fill=0, font=ImageFont.load_default(40))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()
