"""Pages, Numbers and Keynote documents: the preview that the program saved in them. Their own format is not public."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from a2c_documents.model import Element, Facts, Page, PagesSource, Source, UnreadableFileError, image, note
from a2c_documents.parsers.office.package import Package
from a2c_documents.parsers.office.xml import DamagedPartError
from a2c_documents.parsers.pdf.pdf_file import PdfSource

_PDF = ("QuickLook/Preview.pdf", "preview.pdf")
_PICTURES = ("preview.jpg", "QuickLook/Preview.jpg", "QuickLook/Thumbnail.jpg", "QuickLook/Thumbnail.png")
_REMARK = "This is the preview that the program saved with the document. It may have only the first page."


def open_iwork(path: Path) -> Source:
    """A document of Apple's programs.

    Raises:
        UnreadableFileError: it is damaged, or has no preview.
    """
    package = Package(path, "document")
    try:
        if (name := next((name for name in _PDF if name in package), "")) != "":
            return _PreviewSource(path, package.read(name))
        name = next((name for name in _PICTURES if name in package), "")
        if not name:
            raise UnreadableFileError("this document has no preview: save it with one, or export it as PDF")
        shown = image(f"Preview of {path.name}")
        shown.picture = package.picture(name)
        return PagesSource(Facts(details={"preview": True}), [Page("", [shown, _remark()])])
    except DamagedPartError as error:
        raise UnreadableFileError(f"this document is damaged: {error}") from None
    finally:
        package.close()


def _remark() -> Element:
    return note("annotation", _REMARK, kind="preview")


class _PreviewSource:
    """The pages of a preview in PDF."""

    def __init__(self, path: Path, raw: bytes) -> None:
        with contextlib.ExitStack() as held:
            # The reader of PDF files opens a file more than once, so the preview needs a name.
            folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
            copy = folder / f"{path.stem}.pdf"
            copy.write_bytes(raw)
            self._pdf = PdfSource(copy)
            held.callback(self._pdf.close)
            self._held = held.pop_all()
        self.facts = self._pdf.facts
        self.facts.details = {**self.facts.details, "preview": True}

    @property
    def page_titles(self) -> Sequence[str]:
        """One title for each page."""
        return self._pdf.page_titles

    def page(self, index: int) -> Page:
        """One page."""
        page = self._pdf.page(index)
        return Page(page.title, [*page.elements, _remark()] if index == 0 else page.elements, scan=page.scan)

    def close(self) -> None:
        """Close the preview and delete it."""
        self._held.close()
