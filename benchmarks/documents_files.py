"""The files of the document benchmarks, the same in every run: a long PDF, a long sheet, a folder of small files."""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
import zlib
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

from openpyxl import Workbook

KINDS = ("md", "txt", "json", "py", "csv", "html", "eml")
PER_DIRECTORY = 100
COLUMNS = ("number", "date", "region", "product", "pieces", "price", "total", "share", "paid", "remark")

_TEXT = (
    "the report of a quarter says that every office in the north has sold more tools than before while prices stay "
    "where they were and some customers ask for windows documents pages elements servers agents computers members "
    "tables figures notes results plans budgets contracts deliveries invoices shipments engineers meetings"
)
_WORDS = _TEXT.split()
_FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
_SECTIONS = 5
"""Pages from one title of the outline to the next."""


def sentence(draw: random.Random, words: int) -> str:
    """Words, and a full stop."""
    return " ".join(draw.choices(_WORDS, k=words)).capitalize() + "."


# ------------------------------------------------------------------------------------------------------------------ PDF


def make_pdf(path: Path, pages: int, *, outline: bool = True) -> Path:
    """A printed report: title, paragraphs, a list, a ruled table, a picture and a page number on every page."""
    draw = random.Random(7)
    objects = ["", "", f"<< /Title (A report of {pages} pages) /Author (A2C) /Keywords (report, sales) >>".encode()]

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    def stream(data: bytes, entries: str = "") -> int:
        packed = zlib.compress(data)
        head = f"<< {entries} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode()
        return add(head + packed + b"\nendstream")

    picture = "/Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    image = stream(draw.randbytes(64 * 64 * 3), picture)
    fonts = " ".join(
        f"/F{number} {add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>')} 0 R"
        for number, name in enumerate(_FONTS, 1)
    )
    resources = add(f"<< /Font << {fonts} >> /XObject << /P {image} 0 R >> >>")
    leaves: list[int] = []
    for number in range(1, pages + 1):
        contents = stream(_page(draw, number).encode("latin-1"))
        leaves.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {contents} 0 R "
                f"/Resources {resources} 0 R >>"
            )
        )
    catalog = "/Type /Catalog /Pages 2 0 R"
    if outline:
        targets = leaves[::_SECTIONS]
        root = len(objects) + len(targets) + 1
        for at, leaf in enumerate(targets):
            before = f"/Prev {root - len(targets) + at - 1} 0 R" if at else ""
            after = f"/Next {root - len(targets) + at + 1} 0 R" if at + 1 < len(targets) else ""
            add(f"<< /Title (Section {at + 1}) /Parent {root} 0 R /Dest [{leaf} 0 R /Fit] {before} {after} >>")
        add(f"<< /First {root - len(targets)} 0 R /Last {root - 1} 0 R /Count {len(targets)} >>")
        catalog += f" /Outlines {root} 0 R"
    objects[0] = f"<< {catalog} >>".encode()
    kids = " ".join(f"{leaf} 0 R" for leaf in leaves)
    objects[1] = f"<< /Type /Pages /Count {len(leaves)} /Kids [{kids}] >>".encode()
    path.write_bytes(_pdf_bytes([each.encode() if isinstance(each, str) else each for each in objects]))
    return path


def _pdf_bytes(objects: list[bytes]) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    table = "0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        table += f"{out.tell():010d} 00000 n \n"
        out.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
    start, size = out.tell(), len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{start}\n%%EOF"
    out.write(f"xref\n0 {size}\n{table}{trailer}".encode())
    return out.getvalue()


def _page(draw: random.Random, number: int) -> str:
    """About three thousand characters, as a page of print has."""
    parts = [_line(72, 720, f"Section {number}: {sentence(draw, 4)[:-1]}", 16, 2)]
    y = 690
    for lines in (9, 8, 7):
        for _ in range(lines):
            parts.append(_line(72, y, sentence(draw, 13)[:92], 10, 1))
            y -= 12
        y -= 10
    for item in range(1, 5):
        parts.append(_line(84, y, f"{item}. {sentence(draw, 8)[:70]}", 10, 1))
        y -= 12
    y -= 14
    for row in range(8):
        for column in range(5):
            cell = sentence(draw, 1)[:-1] if not row or not column else f"{draw.randrange(100_000):,}"
            parts.append(_line(75 + 70 * column, y - 11, cell, 9, 1 if row else 2))
        parts.append(f"0.5 w 72 {y} m 422 {y} l S\n")
        y -= 15
    parts.append(f"0.5 w 72 {y} m 422 {y} l S\n")
    parts += [f"0.5 w {72 + 70 * column} {y} m {72 + 70 * column} {y + 120} l S\n" for column in range(6)]
    parts.append(f"q 90 0 0 90 450 {y + 20} cm /P Do Q\n")
    parts.append(_line(300, 40, str(number), 9, 1))
    return "".join(parts)


def _line(x: float, y: float, words: str, size: float, font: int) -> str:
    return f"BT /F{font} {size} Tf {x} {y} Td ({words}) Tj ET\n"


# ---------------------------------------------------------------------------------------------------------------- sheet


def make_sheet(path: Path, rows: int) -> Path:
    """A workbook of one sheet with ten columns: whole numbers, fractions, dates and texts, below a row of titles."""
    draw = random.Random(7)
    remarks = [sentence(draw, draw.randrange(3, 12)) for _ in range(500)]
    book = Workbook(write_only=True)
    sheet = book.create_sheet("sales")
    sheet.append(COLUMNS)
    first = datetime.datetime(2020, 1, 1)
    for number in range(rows - 1):
        pieces, price = draw.randrange(1, 500), round(draw.random() * 900, 2)
        sheet.append(
            (
                number, first + datetime.timedelta(minutes=17 * number), draw.choice(_WORDS), draw.choice(_WORDS),
                pieces, price, round(pieces * price, 2), draw.random(), draw.randrange(2), draw.choice(remarks),
            )
        )  # fmt: skip
    book.save(path)
    return path


# --------------------------------------------------------------------------------------------------------------- folder


def make_folder(folder: Path, count: int) -> Path:
    """Small files of seven kinds in turn, a hundred to a directory, a few kilobytes each, no two the same."""
    draw = random.Random(7)
    makers: dict[str, Callable[[random.Random, int], str]] = {
        "md": _markdown, "txt": _text, "json": _json, "py": _python, "csv": _csv, "html": _html, "eml": _mail,
    }  # fmt: skip
    for number in range(count):
        directory = folder / f"part-{number // PER_DIRECTORY:03}"
        if number % PER_DIRECTORY == 0:
            directory.mkdir(parents=True)
        kind = KINDS[number % len(KINDS)]
        (directory / f"file-{number:05}.{kind}").write_text(makers[kind](draw, number), "utf-8")
    return folder


def _paragraphs(draw: random.Random, count: int) -> list[str]:
    return [" ".join(sentence(draw, 12) for _ in range(4)) for _ in range(count)]


def _markdown(draw: random.Random, number: int) -> str:
    blocks = [f"# Document {number}"]
    for part in range(3):
        blocks += [f"## Part {part}", *_paragraphs(draw, 2), "\n".join(f"- {sentence(draw, 6)}" for _ in range(4))]
    return "\n\n".join((*blocks, "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | {row * 2} |" for row in range(5))))


def _text(draw: random.Random, number: int) -> str:
    return "\n\n".join((f"Note {number}", *_paragraphs(draw, 8)))


def _json(draw: random.Random, number: int) -> str:
    rows = [{"id": row, "name": sentence(draw, 3), "value": draw.random()} for row in range(20)]
    return json.dumps({"name": f"set {number}", "rows": rows}, indent=1)


def _python(draw: random.Random, number: int) -> str:
    functions = [
        f'def act_{part}(value: int) -> int:\n    """{sentence(draw, 8)}"""\n    return value + {part}\n'
        for part in range(12)
    ]
    return f'"""Module {number}: {sentence(draw, 8)}"""\n\nimport os\n\n\n' + "\n\n".join(functions)


def _csv(draw: random.Random, number: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("row", "name", "price", "file"))
    writer.writerows((row, sentence(draw, 3), round(draw.random() * 100, 2), number) for row in range(50))
    return out.getvalue()


def _html(draw: random.Random, number: int) -> str:
    body = "".join(f"<h2>Part</h2><p>{words}</p>" for words in _paragraphs(draw, 4))
    cells = "".join(f"<tr><td>{row}</td><td>{sentence(draw, 2)}</td></tr>" for row in range(8))
    title = f"Page {number}"
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}<table>{cells}</table></body></html>"


def _mail(draw: random.Random, number: int) -> str:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "ann@example.org", "bob@example.org", f"Message {number}"
    mail["Date"] = "Mon, 05 Jan 2026 09:00:00 +0000"
    mail.set_content("\n\n".join(_paragraphs(draw, 4)))
    return mail.as_string()
