"""The PDFs of the document benchmarks, the same in every run: a report, a dense table on every page, a form."""

from __future__ import annotations

import io
import random
import zlib
from pathlib import Path

from benchmarks.documents_files import sentence

TABLE_ROWS, TABLE_COLUMNS = 60, 12
FORM_ROWS, FORM_COLUMNS = 30, 4
_FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
_SECTIONS = 5
"""Pages from one title of the outline to the next."""


class _Pdf:
    """Objects, numbered from 1; the first three are the catalogue, the pages and the information."""

    def __init__(self, title: str) -> None:
        about = f"<< /Title ({title}) /Author (A2C) /Keywords (report, sales) >>"
        self._objects = [b"", b"", about.encode()]
        self.leaves: list[int] = []
        self.catalog = ""
        fonts = " ".join(
            f"/F{number} {self.add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>')} 0 R"
            for number, name in enumerate(_FONTS, 1)
        )
        picture = "/Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceRGB /BitsPerComponent 8"
        image = self.stream(random.Random(7).randbytes(64 * 64 * 3), picture)
        self._resources = self.add(f"<< /Font << {fonts} >> /XObject << /P {image} 0 R >> >>")

    def add(self, body: str | bytes) -> int:
        self._objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(self._objects)

    def stream(self, data: bytes, entries: str = "") -> int:
        packed = zlib.compress(data)
        head = f"<< {entries} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode()
        return self.add(head + packed + b"\nendstream")

    def page(self, content: str, size: tuple[int, int] = (612, 792), entries: str = "") -> None:
        contents = self.stream(content.encode("latin-1"))
        self.leaves.append(
            self.add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size[0]} {size[1]}] /Contents {contents} 0 R "
                f"/Resources {self._resources} 0 R {entries} >>"
            )
        )

    def outline(self) -> None:
        """A title for every few pages."""
        targets = self.leaves[::_SECTIONS]
        root = len(self._objects) + len(targets) + 1
        for at, leaf in enumerate(targets):
            before = f"/Prev {root - len(targets) + at - 1} 0 R" if at else ""
            after = f"/Next {root - len(targets) + at + 1} 0 R" if at + 1 < len(targets) else ""
            self.add(f"<< /Title (Section {at + 1}) /Parent {root} 0 R /Dest [{leaf} 0 R /Fit] {before} {after} >>")
        self.add(f"<< /First {root - len(targets)} 0 R /Last {root - 1} 0 R /Count {len(targets)} >>")
        self.catalog += f" /Outlines {root} 0 R"

    def write(self, path: Path) -> Path:
        kids = " ".join(f"{leaf} 0 R" for leaf in self.leaves)
        self._objects[0] = f"<< /Type /Catalog /Pages 2 0 R {self.catalog} >>".encode()
        self._objects[1] = f"<< /Type /Pages /Count {len(self.leaves)} /Kids [{kids}] >>".encode()
        out = io.BytesIO()
        out.write(b"%PDF-1.7\n")
        table = "0000000000 65535 f \n"
        for number, body in enumerate(self._objects, 1):
            table += f"{out.tell():010d} 00000 n \n"
            out.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
        start, size = out.tell(), len(self._objects) + 1
        trailer = f"trailer << /Size {size} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{start}\n%%EOF"
        out.write(f"xref\n0 {size}\n{table}{trailer}".encode())
        path.write_bytes(out.getvalue())
        return path


def make_report(path: Path, pages: int, *, outline: bool = True) -> Path:
    """A printed report: title, paragraphs, a list, a ruled table, a picture and a page number on every page."""
    draw = random.Random(7)
    pdf = _Pdf(f"A report of {pages} pages")
    for number in range(1, pages + 1):
        pdf.page(_report_page(draw, number))
    if outline:
        pdf.outline()
    return pdf.write(path)


def make_tables(path: Path, pages: int) -> Path:
    """Pages that are one ruled table each, as full as a page of numbers gets."""
    draw = random.Random(7)
    pdf = _Pdf(f"{pages} tables")
    for _ in range(pages):
        pdf.page(_table_page(draw), (842, 595))
    return pdf.write(path)


def make_forms(path: Path, pages: int) -> Path:
    """Pages of boxes with a label and a field in each, every fourth filled."""
    draw = random.Random(7)
    pdf = _Pdf(f"{pages} forms")
    fields: list[int] = []
    for page in range(pages):
        content: list[str] = []
        own: list[int] = []
        for row in range(FORM_ROWS):
            for column in range(FORM_COLUMNS):
                x, y = 30 + 138 * column, 740 - 24 * row
                content += [f"0.5 w {x} {y} 138 24 re S\n", _line(x + 3, y + 15, sentence(draw, 2)[:-1], 7, 1)]
                value = f"/V ({sentence(draw, 1)})" if column == 1 else ""
                own.append(
                    pdf.add(
                        f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f{page}.{row}.{column}) "
                        f"/TU (Field {row} {column}) {value} /Rect [{x + 3} {y + 2} {x + 130} {y + 13}] >>"
                    )
                )
        pdf.page("".join(content), entries=f"/Annots [{' '.join(f'{field} 0 R' for field in own)}]")
        fields += own
    pdf.catalog = f"/AcroForm << /Fields [{' '.join(f'{field} 0 R' for field in fields)}] >>"
    return pdf.write(path)


# ---------------------------------------------------------------------------------------------------------------- pages


def _report_page(draw: random.Random, number: int) -> str:
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


def _table_page(draw: random.Random) -> str:
    parts: list[str] = []
    left, top, width, height = 24, 570, 66, 9
    for row in range(TABLE_ROWS):
        for column in range(TABLE_COLUMNS):
            cell = sentence(draw, 1)[:-1] if not row or not column else f"{draw.randrange(100_000):,}"
            parts.append(_line(left + 3 + width * column, top - 7 - height * row, cell, 7, 1 if row else 2))
    right, bottom = left + width * TABLE_COLUMNS, top - height * TABLE_ROWS
    levels = [top - height * row for row in range(TABLE_ROWS + 1)]
    parts += [f"0.5 w {left} {y} m {right} {y} l S\n" for y in levels]
    parts += [f"0.5 w {x} {top} m {x} {bottom} l S\n" for x in range(left, right + 1, width)]
    return "".join(parts)


def _line(x: float, y: float, words: str, size: float, font: int) -> str:
    return f"BT /F{font} {size} Tf {x} {y} Td ({words}) Tj ET\n"
