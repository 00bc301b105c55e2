"""Text recognition with RapidOCR, in scans that are made here. Needs the extra `ocr`: `make test-all` installs it."""

from __future__ import annotations

import difflib
import importlib.util
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from a2c_documents.library.library import Library
from a2c_documents.recognition.choice import rapid
from a2c_documents.recognition.models import BrokenModelsError, Models
from a2c_documents.server.addresses import read
from a2c_smcp.cli.doctor.findings import Level, Report
from a2c_smcp.cli.doctor.recognition import check_recognition
from tests.support.documents.libraries import MakeLibrary

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        importlib.util.find_spec("rapidocr") is None,
        reason="text recognition is not installed: `make test-all` installs the extra ocr",
    ),
]

DPI = 150
CHINESE = "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"
CHINESE_WORDS = [
    "委员会审查了年度账目，发现收入增长了百分之十二点五，",
    "主要原因是北部地区的需求增加。书面报告将在四月三十日之前发送。",
]
HAS_CHINESE = Path(CHINESE).exists()
WORDS = [
    "The committee reviewed the annual accounts on 14 March 2024 and",
    "found that revenue had increased by 12.5 percent. Costs for transport",
    "rose by 3,482 euros. Members asked the treasurer, Ms. O'Neill, to",
    "prepare a forecast. It was accepted with seven votes to two.",
]
ROWS = [["Region", "Q1", "Q2", "Total"], ["North", "120", "135", "255"], ["Islands", "98", "7", "105"]]


def font(points: float, file: str | None = None) -> Any:
    pixels = round(points * DPI / 72)
    return ImageFont.truetype(file, pixels) if file is not None else ImageFont.load_default(pixels)


def scanned(path: Path, *, degrees: float = 0.0, file: str | None = None, words: list[str] = WORDS) -> None:
    """A page with a title, a paragraph and a ruled table, a little askew and not quite clean."""
    page = Image.new("L", (round(8.27 * DPI), round(11.69 * DPI)), 255)
    draw = ImageDraw.Draw(page)
    draw.text((130, 120), words[0] if file else "Annual report", fill=0, font=font(20, file))
    for number, line in enumerate(words):
        draw.text((130, 220 + 34 * number), line, fill=0, font=font(11, file))
    xs, top, step = [130, 400, 560, 720, 900], 420, 50
    for row, cells in enumerate([*ROWS, []]):
        draw.line([(xs[0], top + row * step), (xs[-1], top + row * step)], fill=0, width=2)
        for at, cell in enumerate(cells):
            draw.text((xs[at] + 14, top + row * step + 12), cell, fill=0, font=font(11))
    for x in xs:
        draw.line([(x, top), (x, top + 3 * step)], fill=0, width=2)
    page = Image.blend(page, Image.effect_noise(page.size, 60), 0.08).filter(ImageFilter.GaussianBlur(0.5))
    page.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=250).save(path, resolution=DPI)


async def shown(library: Library, name: str) -> list[dict[str, Any]]:
    ref = next(ref for ref, document in library.documents.items() if document.relative == name)
    return (await read(library, library.address(ref, "pages/0"))).body["elements"]


def likeness(said: str, written: str) -> float:
    return difflib.SequenceMatcher(None, "".join(said.split()), "".join(written.split()), autojunk=False).ratio()


async def test_title_text_and_table_of_a_scan_are_read(files: Path, make_library: MakeLibrary) -> None:
    scanned(files / "straight.pdf")
    scanned(files / "askew.png", degrees=1.3)
    scanned(files / "down.jpg", degrees=180)
    if HAS_CHINESE:
        scanned(files / "chinese.png", file=CHINESE, words=CHINESE_WORDS)
    library = make_library(ocr=rapid(in_background=False), patience=120)
    await library.look()
    await library.read_all()
    for document in library.documents.values():
        elements = await shown(library, document.relative)
        [table] = [one for one in elements if one["category"] == "table"]
        assert [table["content"]["headers"], *table["content"]["rows"]] == ROWS, document.relative
        assert all(one["metadata"]["confidence"] > 0.8 for one in elements[2:])
        said = "".join(str(one["content"].get("text", "")) for one in elements[2:])
        words = [CHINESE_WORDS[0], *CHINESE_WORDS] if "chinese" in document.relative else ["Annual report", *WORDS]
        assert likeness(said, "".join(words)) > 0.97, said


async def test_nothing_is_downloaded_reported_or_left(
    files: Path, make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Every proxy is a closed port, so a request would fail at once.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    # onnxruntime would keep an id of the machine and its reports here.
    (home := tmp_path / "home").mkdir()
    for name in ("HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(home))
    scanned(files / "scan.png")
    library = make_library(ocr=rapid(in_background=False), patience=120)
    await library.look()
    await library.read_all()
    assert any(one["category"] == "table" for one in await shown(library, "scan.png"))
    assert not list(home.iterdir())


async def test_the_doctor_finds_it() -> None:
    report = Report("Text recognition")
    await check_recognition(None, report)  # pyright: ignore[reportArgumentType] - it has no options
    assert [finding.level for finding in report.findings] == [Level.OK]


async def test_a_folder_of_models_is_used_and_a_broken_one_is_told(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    with pytest.raises(BrokenModelsError, match="no model that reads lines"):
        rapid(folder)
    shutil.copy(Models.of(None).recognition, folder / "rec.onnx")
    scanned(files / "scan.png")
    for is_broken in (False, True):
        if is_broken:
            (folder / "rec.onnx").write_bytes(b"this is no model")
        library = make_library(ocr=rapid(folder, in_background=False), patience=120)
        await library.look()
        await library.read_all()
        elements = await shown(library, "scan.png")
        if is_broken:
            assert "models cannot be loaded" in elements[-1]["content"]["text"]
        else:
            assert any(one["category"] == "table" for one in elements)
        await library.close()
    (folder / "second_rec.onnx").write_bytes(b"")
    with pytest.raises(BrokenModelsError, match="several"):
        rapid(folder)


def test_a_broken_folder_of_models_ends_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "a2c_smcp.cli", "documents", str(tmp_path), "--check", "--ocr-models", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no model that reads lines" in done.stderr
