"""One PDF page as elements: words, lines, pictures and marks in reading order."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pypdfium2 import PdfDocument, PdfPage

from a2c_documents.model import Element, image, note, text
from a2c_documents.paging import MAX_PAGE_BYTES, size_of
from a2c_documents.parsers.pdf.across_pages import Neighbours
from a2c_documents.parsers.pdf.aligned_tables import Around
from a2c_documents.parsers.pdf.figures import PAGE_WIDE, clusters_of, figures_of
from a2c_documents.parsers.pdf.geometry import Box, area, around, common, frame_of
from a2c_documents.parsers.pdf.layout import Row, columns_of, join, words_of
from a2c_documents.parsers.pdf.marks import Mark, Marks, read_marks
from a2c_documents.parsers.pdf.objects import Drawn, read_objects
from a2c_documents.parsers.pdf.pictures import MAX_PICTURES, drawing_of, pictures_of
from a2c_documents.parsers.pdf.scripts import joined_rtl, phrases
from a2c_documents.parsers.pdf.tables import Found, ruled_tables
from a2c_documents.parsers.pdf.tagged_tables import tagged_tables
from a2c_documents.parsers.pdf.text import Block, Style, blocks_of, plain_titles, style_of, take_edges
from a2c_documents.parsers.pdf.unnamed import give_names
from a2c_documents.parsers.pdf.words import DOWN, RIGHT, Item, Words, parted, read_downwards, read_words

_MAX_MARKED = 500
_PIECES = 8
_MOST_DOTS, _FILLED = 2_000, 0.4
_LONG = 20_000
"""Characters above which a page is measured against the size limit. Measuring means serializing every element."""
_FEW = 200
"""Characters on a scanned page: a stamp, a number, or the line of a fax machine."""
_AROUND_SCANS = ("image", "heading", "text", "header", "footer", "link", "annotation")


@dataclass(frozen=True, slots=True)
class Place:
    """A loaded page, and where it is."""

    path: Path
    document: PdfDocument
    page: PdfPage
    index: int
    neighbours: Neighbours
    password: str | None = field(default=None, repr=False)
    attached: Sequence[str] = ()
    """The names of the files of the whole document, if this is the page that shows them."""


def words_on(page: PdfPage) -> Words:
    """The words of a loaded page."""
    textpage = page.get_textpage()
    try:
        return read_words(textpage, frame_of(page))
    finally:
        textpage.close()


def read_page(place: Place, words: Words, titles: Sequence[tuple[str, int]], form: Any) -> list[Element]:
    """The elements of a page with these words. `titles` are the entries of the outline that point to it."""
    document, page, index = place.document, place.page, place.index
    frame = frame_of(page)
    if words.unnamed:
        give_names(place.path, index, [*words.items, *(item for item, _ in words.sideways)], place.password)
    place.neighbours.keep(index, words.items)
    marks = read_marks(page, form, frame)
    drawn = read_objects(page, frame)
    # Text objects without words, or vertical ones: pdfium cannot read vertical text in fonts that are not embedded.
    if drawn.texts and (not words.items or words.direction == DOWN):
        words = read_downwards(place.path, index, place.password) or words
    width, height = page.get_size()
    found = pictures_of(document, page, index, drawn)
    pictures = _gathered(document, index, found, drawn.dots[:_MOST_DOTS], (width, height))
    if not words.items and not words.sideways:
        elements = _without_words(document, index, (0.0, 0.0, width, height), drawn, pictures)
    else:
        drawing = partial(drawing_of, document, index)
        is_running = partial(place.neighbours.repeat, index)
        style = style_of(words.items, plain_titles(titles))
        if words.has_rtl:
            words.items = joined_rtl(words.items)
        sideways = phrases(words.sideways)
        # On a turned page, the positions of words and of objects are in different frames.
        tagged = tagged_tables(page, frame, words.items, sideways) if words.direction == RIGHT else []
        elements = _with_words(words, sideways, drawn, pictures, drawing, style, is_running, (width, height),
                               marks.places, tagged)  # fmt: skip
        marks.places = []
    elements += [_placed(mark.element, list(mark.boxes[0])) for mark in marks.places]
    if marks.form is not None:
        elements.append(marks.form)
    elements += _attached(place, marks)
    # Fields of a form are text, too, and are not among the words.
    long = marks.form is not None or sum(len(item.text) for item in words.items) > _LONG
    kept = _bounded(elements) if long else elements
    cut = words.cut or drawn.cut or marks.cut or len(drawn.pictures) > MAX_PICTURES
    if cut or len(kept) < len(elements):
        kept.append(note("annotation", "There is more on this page than can be shown: some of it is left out."))
    return kept


def is_scan(elements: Sequence[Element], size_of_page: Callable[[], tuple[float, float]]) -> bool:
    """Whether the words of a page are in a picture: it has one, and no words, or the picture fills it."""
    pictures = [element for element in elements if element.category == "image"]
    if not pictures or any(element.category not in _AROUND_SCANS for element in elements):
        return False
    words = sum(len(element.content["text"]) for element in elements if element.category in _AROUND_SCANS[1:5])
    if not 0 < words <= _FEW:
        return words == 0
    width, height = size_of_page()
    boxes = [element.metadata["box"] for element in pictures if "box" in element.metadata]
    return any(area(tuple(box)) > PAGE_WIDE * width * height for box in boxes)


def resolution_of(elements: Sequence[Element]) -> float:
    """The pixels in a point of the finest picture on a page; 0 if its pictures are drawings."""
    known = (element.metadata for element in elements if element.category == "image" and "width" in element.metadata)
    return max((one["width"] / max(one["box"][2] - one["box"][0], 1.0) for one in known if "box" in one), default=0.0)


def lay_out(words: Words, sideways: list[Item], drawn: Drawn, size: tuple[float, float]) -> list[Element]:
    """The elements of a page of which words and lines are known otherwise, as by text recognition."""

    def drawing(box: Box, description: str) -> Element:
        return image("", description, box=[round(side, 1) for side in box])

    def is_running(row: Row) -> bool:
        return False

    return _with_words(words, sideways, drawn, [], drawing, style_of(words.items, {}), is_running, size, [], [])


def _attached(place: Place, marks: Marks) -> list[Element]:
    """The files that are pinned to the page, and those of the document if this is their page."""
    if not marks.has_files and not place.attached:
        return []
    # Imported here: it takes longer than reading a page, and few files need it.
    from a2c_documents.parsers.pdf.attached_files import Holder, attached_elements

    found: list[Element] = []
    if marks.has_files:
        found += attached_elements(Holder(place.path, place.password, place.index), ())
    if place.attached:
        found += attached_elements(Holder(place.path, place.password), place.attached)
    return found


def _gathered(
    document: PdfDocument,
    index: int,
    pictures: list[tuple[Element, Box]],
    dots: list[Box],
    size: tuple[float, float],
) -> list[tuple[Element, Box]]:
    """The pictures of a page. Many pictures close to each other are the pieces of one, which is shown as it looks."""
    if len(pictures) + len(dots) < _PIECES:
        return pictures
    # Pictures may reach beyond the page, or be outside of it.
    width, height = size
    boxes = [
        (min(max(x0, 0.0), width), min(max(top, 0.0), height), min(max(x1, 0.0), width), min(max(bottom, 0.0), height))
        for x0, top, x1, bottom in (*(box for _, box in pictures), *dots)
    ]
    kept: list[tuple[Element, Box]] = []
    for numbers in clusters_of(boxes, size):
        box = around(boxes[number] for number in numbers)
        # Bullets and stars have much room between them, unlike the bars of a chart.
        has_dots = numbers[-1] >= len(pictures)
        is_loose = has_dots and sum(area(boxes[number]) for number in numbers) < _FILLED * area(box)
        if len(numbers) < _PIECES or is_loose:
            kept += [pictures[number] for number in numbers if number < len(pictures)]
            continue
        kept.append((drawing_of(document, index, box, f"Picture of {len(numbers)} pieces"), box))
    return kept


def _bounded(elements: list[Element]) -> list[Element]:
    """The elements that fit. Other formats continue on another page, but the pages of a PDF keep their numbers."""
    room = MAX_PAGE_BYTES
    for number, element in enumerate(elements):
        room -= size_of(element)
        if room < 0:
            return elements[:number]
    return elements


def _without_words(
    document: PdfDocument, index: int, whole: Box, drawn: Drawn, pictures: list[tuple[Element, Box]]
) -> list[Element]:
    if not pictures and not drawn.shapes:
        return [note("annotation", "This page is empty.")]
    # A scan is one picture, which is shown in its own resolution. Pages of several pieces are rendered as a whole.
    if len(pictures) == 1 and len(drawn.shapes) < 10:
        scan = pictures[0][0]
    else:
        scan = drawing_of(document, index, whole, "The page as it looks")
    scan.content["description"] = scan.content["description"] or "The page as a picture"
    return [scan]


def _with_words(
    words: Words,
    sideways: list[Item],
    drawn: Drawn,
    pictures: list[tuple[Element, Box]],
    drawing: Callable[[Box, str], Element],
    style: Style,
    is_running: Callable[[Row], bool],
    size: tuple[float, float],
    marks: list[Mark],
    tagged: list[Found],
) -> list[Element]:
    # The order matters. Ruled tables come first, because their words must not be read as columns. A figure overrides a
    # "table" made of its grid lines, and takes its labels out of the text. Pictures and tables then take part in the
    # layout as blocks, so that the text flows around them. Headers and footers are removed before the columns are
    # found: a line across the whole page would otherwise hide the gutter.
    across = [words.framed(line) for line in drawn.across]
    upright = [words.framed(line) for line in drawn.upright]
    # If the frame is turned by 90°, horizontal lines of the page are vertical in it, and the other way round.
    if words.direction % 2:
        across, upright = upright, across
    _, top, _, bottom = words.framed((0.0, 0.0, *size))
    before: list[Block] = []
    items = _without(words.items, [item for table in tagged for item in table.items])
    sideways = _without(sideways, [item for table in tagged for item in table.items])
    items = _cut(items, upright)
    tables = [*tagged, *ruled_tables(items, sideways, across, upright)]
    for figure in figures_of(drawn, words, (items, sideways), tables, size):
        tables = [table for table in tables if common(table.box, figure.box) < 0.5 * area(table.box)]
        items = _without(items, figure.labels)
        sideways = _without(sideways, figure.labels)
        pictures.append((drawing(figure.box, figure.description), figure.box))
    for table in tables:
        items = [*_without(items, table.items), _standing(table.element, table.box)]
        sideways = _without(sideways, table.items)
    for element, box in pictures:
        framed = words.framed(box)
        # A picture behind text is the background of the page, and must not divide its columns.
        behind = sum(1 for item in items if item.block is None and _inside(item, framed)) > 3
        if behind or area(box) > PAGE_WIDE * size[0] * size[1]:
            before.append(Block(element, framed))
        else:
            items.append(_standing(element, framed))
    header, items, footer = take_edges(items, (top, bottom), style, is_running)
    blocks = header + before
    near = Around(across, sideways)
    for column in columns_of(items, rtl=words.rtl):
        blocks += blocks_of(column, style, near)
    elements = _interleaved(words, blocks + footer, marks)
    if sideways:
        # Turned text is a stamp or a label that belongs to no line: it comes last.
        elements.append(text(" ".join(item.text for item in sideways), direction="sideways"))
    return elements


def _cut(items: list[Item], upright: list[Box]) -> list[Item]:
    """Split items that a vertical line crosses: their words are in two cells, however close they are."""
    if not upright:
        return items
    places = sorted((line[0], line[1], line[3]) for line in upright)
    cut: list[Item] = []
    for item in items:
        if len(item.pieces) < 2:
            cut.append(item)
            continue
        inner = places[bisect(places, (item.x0,)) : bisect(places, (item.x1,))]
        crossed = any(top <= item.base and bottom >= item.top for _, top, bottom in inner)
        cut += parted(item) if crossed else [item]
    return cut


def _without(items: list[Item], taken: list[Item]) -> list[Item]:
    held = {id(item) for item in taken}
    return [item for item in items if id(item) not in held]


def _standing(element: Element, box: Box) -> Item:
    """A table or picture as an item that takes part in the layout, at the height of its top edge."""
    x0, top, x1, bottom = box
    return Item("", x0, top, x1, bottom, top, 1.0, block=element)


def _inside(item: Item, box: Box) -> bool:
    x, y = (item.x0 + item.x1) / 2, (item.top + item.bottom) / 2
    return box[0] < x < box[2] and box[1] < y < box[3]


def _interleaved(words: Words, blocks: list[Block], marks: list[Mark]) -> list[Element]:
    """The elements of the page. Links and comments follow the block they are on, or come last."""
    followers: dict[int, list[Element]] = {}
    for mark in marks:
        boxes = sorted((words.framed(box) for box in mark.boxes), key=lambda box: box[1])
        x0, y0, x1, y1 = boxes[-1]
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        if mark.marks_words:
            _tell(mark.element, [_words_in(words, box) for box in boxes])
        on = [i for i, block in enumerate(blocks)
              if block.box[0] - 3 <= x <= block.box[2] + 3 and block.box[1] - 3 <= y <= block.box[3] + 3]  # fmt: skip
        # Blocks may overlap: pictures behind the text come first. The last block is the one on top.
        at = on[-1] if on else len(blocks)
        followers.setdefault(at, []).append(_placed(mark.element, list(mark.boxes[0])))
    elements: list[Element] = []
    for number, block in enumerate(blocks):
        elements.append(_placed(block.element, words.shown(block.box)))
        elements += followers.get(number, [])
    return elements + followers.get(len(blocks), [])


def _words_in(words: Words, box: Box) -> str:
    near = [item for item in words.items if box[1] < (item.top + item.bottom) / 2 < box[3]]
    return words_of([word for item in near for word in parted(item) if _inside(word, box)])


def _tell(element: Element, lines: list[str]) -> None:
    """Add the words that a link or a highlight covers."""
    said = ""
    for line in lines:
        # An address that is printed over two lines has no space at the line break.
        goes_on = element.category == "link" and said + line in element.content["url"]
        said = said + line if goes_on else join(said, line)
    if said and element.category == "link":
        element.content["text"] = said[:_MAX_MARKED]
    elif said:
        element.content["marked"] = said[:_MAX_MARKED]


def _placed(element: Element, box: list[float]) -> Element:
    element.metadata["box"] = [round(side, 1) for side in box]
    return element
