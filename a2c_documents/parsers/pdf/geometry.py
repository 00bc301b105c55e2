"""Boxes, and the matrices from a file's coordinates to the page as it is shown.

PDF counts from the bottom left of an uncropped, unrotated page. Everything here counts from the top left of the visible
page, as people and pictures do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the top left corner of the page as it is shown."""

Matrix = tuple[float, float, float, float, float, float]
"""As PDF writes it: x becomes ax + cy + e, and y becomes bx + dy + f."""

IDENTITY: Matrix = (1, 0, 0, 1, 0, 0)


def frame_of(page: PdfPage) -> Matrix:
    """The matrix of a page: crop box, rotation, origin at the top left."""
    # pdfium gives the size of a page as it is shown, but the positions of its objects before cropping and rotation.
    left, bottom, right, top = page.get_cropbox()
    rotation = page.get_rotation()
    if rotation == 90:
        return 0, 1, 1, 0, -bottom, -left
    if rotation == 180:
        return -1, 0, 0, 1, right, -bottom
    if rotation == 270:
        return 0, -1, -1, 0, top, right
    return 1, 0, 0, -1, -left, top


def matrix_of(handle: Any) -> Matrix:
    """The matrix of an object inside its container."""
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(handle, found):
        return IDENTITY
    return found.a, found.b, found.c, found.d, found.e, found.f


def is_upright(frame: Matrix) -> bool:
    """Whether a page is shown as it is written."""
    return frame[:4] == (1, 0, 0, -1)


def times(inner: Matrix, outer: Matrix) -> Matrix:
    """The product: apply the inner matrix first."""
    a, b, c, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc, a * ob + b * od, c * oa + d * oc, c * ob + d * od, e * oa + f * oc + oe, e * ob + f * od + of,
    )  # fmt: skip


def point_in(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """A transformed point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def box_in(matrix: Matrix, x0: float, y0: float, x1: float, y1: float) -> Box:
    """The box around a transformed rectangle."""
    a, b, c, d, e, f = matrix
    # Nearly all matrices only scale and move, and this is called for every shape.
    if b == 0 == c:
        left, right, top, bottom = a * x0 + e, a * x1 + e, d * y0 + f, d * y1 + f
        return min(left, right), min(top, bottom), max(left, right), max(top, bottom)
    corners = [point_in(matrix, x, y) for x in (x0, x1) for y in (y0, y1)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def area(box: Box) -> float:
    """The area of a box."""
    return (box[2] - box[0]) * (box[3] - box[1])


def common(one: Box, other: Box) -> float:
    """The area that two boxes have in common."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 < height else 0.0


def around(boxes: Iterable[Box]) -> Box:
    """The box around all of them."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
