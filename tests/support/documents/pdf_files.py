"""PDFs for tests, written by hand: what is in them is what a test says, and nothing else."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}


def line(x: float, y: float, words: str, size: float = 10, font: str = "F1") -> str:
    """Words on the page; `y` is measured from its foot."""
    escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET\n"


def paragraph(x: float, y: float, lines: list[str], size: float = 10, pitch: float = 12) -> str:
    """Lines below each other."""
    return "".join(line(x, y - number * pitch, words, size) for number, words in enumerate(lines))


def rule(x0: float, y0: float, x1: float, y1: float) -> str:
    """A straight line."""
    return f"0.5 w {x0} {y0} m {x1} {y1} l S\n"


def curve(points: list[tuple[float, float]]) -> str:
    """A line through many points."""
    (x, y), *rest = points
    return f"0.8 w {x} {y} m " + " ".join(f"{x} {y} l" for x, y in rest) + " S\n"


def circle(x: float, y: float, radius: float, paint: str = "S") -> str:
    """A circle of four curves."""
    r, k = radius, 0.5523 * radius
    return (
        f"{x + r} {y} m {x + r} {y + k} {x + k} {y + r} {x} {y + r} c {x - k} {y + r} {x - r} {y + k} {x - r} {y} c "
        f"{x - r} {y - k} {x - k} {y - r} {x} {y - r} c {x + k} {y - r} {x + r} {y - k} {x + r} {y} c {paint}\n"
    )


def jpeg(width: int, height: int) -> bytes:
    """A picture."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, "JPEG")
    return out.getvalue()


@dataclass
class PdfFile:
    """Objects of a PDF, numbered from 1; the first three are the catalogue, the pages and the information."""

    objects: list[bytes] = field(default_factory=lambda: [b"", b"", b"<< >>"])
    pages: list[int] = field(default_factory=list[int])
    catalog: str = ""
    trailer: str = ""

    def add(self, body: str | bytes) -> int:
        """An object; its number."""
        self.objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(self.objects)

    def stream(self, data: str | bytes, entries: str = "") -> int:
        """A stream; its number."""
        raw = data.encode("latin-1") if isinstance(data, str) else data
        return self.add(f"<< {entries} /Length {len(raw)} >>\nstream\n".encode() + raw + b"\nendstream")

    def page(self, content: str, entries: str = "", resources: str = "") -> int:
        """A page of 612 x 792 points; its number among the objects."""
        fonts = " ".join(f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{base} >>" for name, base in FONTS.items())
        box = "" if "/MediaBox" in entries else "/MediaBox [0 0 612 792]"
        self.pages.append(
            self.add(
                f"<< /Type /Page /Parent 2 0 R {box} /Contents {self.stream(content)} 0 R {entries} "
                f"/Resources << /Font << {fonts} >> {resources} >> >>"
            )
        )
        return self.pages[-1]

    def outline(self, titles: list[tuple[str, int]]) -> None:
        """Titles, and the object that each points at."""
        root = len(self.objects) + 1
        last = root + len(titles)
        self.add(f"<< /Type /Outlines /First {root + 1} 0 R /Last {last} 0 R /Count {len(titles)} >>")
        for at, (title, page) in enumerate(titles, root + 1):
            after = f"/Next {at + 1} 0 R" if at < last else ""
            self.add(f"<< /Title ({title}) /Parent {root} 0 R /Dest [{page} 0 R /Fit] {after} >>")
        self.catalog += f"/Outlines {root} 0 R "

    def info(self, entries: str) -> None:
        """What the file says about itself."""
        self.objects[2] = f"<< {entries} >>".encode("latin-1")

    def bytes(self) -> bytes:
        """The whole file."""
        kids = " ".join(f"{number} 0 R" for number in self.pages)
        self.objects[0] = f"<< /Type /Catalog /Pages 2 0 R {self.catalog} >>".encode("latin-1")
        self.objects[1] = f"<< /Type /Pages /Count {len(self.pages)} /Kids [{kids}] >>".encode()
        out = b"%PDF-1.7\n"
        places: list[int] = []
        for number, body in enumerate(self.objects, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        table = "".join(f"{place:010d} 00000 n \n" for place in places)
        size = len(self.objects) + 1
        end = f"trailer << /Size {size} /Root 1 0 R /Info 3 0 R {self.trailer} >>\nstartxref\n{len(out)}\n%%EOF"
        return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1")

    def write(self, path: Path) -> Path:
        """Write it."""
        path.write_bytes(self.bytes())
        return path
