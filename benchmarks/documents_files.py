"""The files of the document benchmarks, the same in every run: a long sheet, a folder of small files."""

from __future__ import annotations

import csv
import datetime
import io
import json
import random
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


def sentence(draw: random.Random, words: int) -> str:
    """Words, and a full stop."""
    return " ".join(draw.choices(_WORDS, k=words)).capitalize() + "."


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
