"""Files of Office 97-2003, and programs that stand in for LibreOffice."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import docx
import pptx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn

from a2c_documents.store.converted import ConvertedFiles
from a2c_documents.workers.conversion import Converter
from a2c_documents.workers.libreoffice import NAMES
from a2c_documents.workers.pool import Workers
from tests.support.documents.old_workbooks import compound

needs_libreoffice = pytest.mark.skipif(
    not any(map(shutil.which, NAMES)),
    reason="LibreOffice is not installed: `apt install libreoffice-writer-nogui libreoffice-impress-nogui`",
)
_PICTURE = Path(__file__).parents[3] / "examples" / "library" / "pictures" / "storefront.png"
HANGS = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__]); time.sleep(600)"
GIVES_NOTHING = "pass"
IS_KILLED = "open(source + '.half', 'w').write('half'); os.kill(os.getpid(), 9)"
FILLS_MEMORY = "held = bytearray(4_000_000_000)"


def write_doc(path: Path, words: str = "") -> Path:
    """A file that counts as a Word document, with nothing in it that a program could convert."""
    path.write_bytes(compound({"WordDocument": bytes(12) + words.encode() + bytes(500)}))
    return path


def write_docx(path: Path, words: str) -> Path:
    """A document of one heading and one paragraph."""
    document = docx.Document()
    document.add_heading(words, 1)
    document.add_paragraph(f"All about {words}.")
    document.save(str(path))
    return path


def write_linked_picture(path: Path, url: str) -> Path:
    """A document with a picture that is elsewhere."""
    document = docx.Document()
    document.add_paragraph("A picture:")
    document.add_picture(str(_PICTURE))
    (blip,) = cast("Any", document).element.body.iter("{http://schemas.openxmlformats.org/drawingml/2006/main}blip")
    blip.attrib.clear()
    blip.set(qn("r:link"), document.part.relate_to(url, RELATIONSHIP_TYPE.IMAGE, is_external=True))
    document.save(str(path))
    return path


def write_pptx(path: Path, words: str) -> Path:
    """A presentation of one slide with notes."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = words  # pyright: ignore[reportOptionalMemberAccess]
    slide.placeholders[1].text_frame.text = f"All about {words}."  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    slide.notes_slide.notes_text_frame.text = f"Say {words}."  # pyright: ignore[reportOptionalMemberAccess]
    presentation.save(str(path))
    return path


def stand_in(folder: Path, does: str = "") -> Path:
    """A program with the command line of LibreOffice. It notes each start in `starts`; without `does`, it gives the
    document `result.docx` of its folder."""
    program = folder / "soffice"
    program.write_text(
        f"#!{sys.executable}\nimport os, shutil, subprocess, sys, time\n"
        f"source, results = sys.argv[-1], sys.argv[sys.argv.index('--outdir') + 1]\n"
        f"open({str(folder / 'starts')!r}, 'a').write(source + '\\n')\n"
        + (does or f"shutil.copy({str(folder / 'result.docx')!r}, os.path.join(results, 'file.docx'))")
        + "\n"
    )
    program.chmod(0o755)
    return program


def starts(program: Path) -> int:
    """How often a stand-in was started."""
    noted = program.parent / "starts"
    return len(noted.read_text().splitlines()) if noted.exists() else 0


def workers_with(
    program: Path | None, kept: Path | None = None, seconds: float = 60, retry_seconds: float = 60, count: int = 2
) -> Workers:
    """Workers that convert with a program."""
    converter = Converter(program, ConvertedFiles(kept), seconds, retry_seconds=retry_seconds)
    return Workers(count, 30, converter=converter)


def in_old_format(path: Path, to: str) -> Path:
    """A file of a current format, saved by LibreOffice in an old one beside it."""
    profile = path.parent / f"profile-{to}"
    subprocess.run(
        [
            next(filter(None, map(shutil.which, NAMES))), f"-env:UserInstallation={profile.as_uri()}", "--headless",
            "--convert-to", to, "--outdir", path.parent, path,
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return path.with_suffix(f".{to}")
