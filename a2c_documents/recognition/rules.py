"""The ruling lines of tables in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

MAX_RULES = 2_000
_ASKEW = 0.1
"""Degrees by which a picture is turned before lines are looked for: more would break them into pieces."""
_LEAST, _HIGH = 30, 1.6
"""Pixels, and heights of a line of text, of the shortest line: longer than the strokes of letters."""
_WIDEST = 12
"""Pixels of the thickest line."""
_GAP = 9
"""Pixels of the longest gap in a line: scans of thin lines have many."""


def rules_of(pixels: Any, boxes: Any) -> list[list[float]]:
    """Horizontal and vertical lines in a picture, from end to end; `boxes` are those of its text."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    ink = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 12)
    height, width = ink.shape
    angle = _angle(boxes)
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    if abs(angle) > _ASKEW:
        ink = cv2.warpAffine(ink, turn, (width, height), flags=cv2.INTER_NEAREST)
    else:
        turn = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    heights = [min(_sides(box)) for box in boxes]
    shortest = round(max(_LEAST, _HIGH * float(np.median(heights)) if heights else 0))
    texts = [_bounds(np.asarray(box) @ turn[:, :2].T + turn[:, 2]) for box in boxes]
    back = cv2.invertAffineTransform(turn)
    rules: list[list[float]] = []
    for is_across in (True, False):
        for x, y, w, h in _strokes(ink, shortest, is_across=is_across):
            if not any(x0 - 2 <= x and y0 - 2 <= y and x + w <= x1 + 2 and y + h <= y1 + 2 for x0, y0, x1, y1 in texts):
                ends = [(x, y + h / 2), (x + w, y + h / 2)] if is_across else [(x + w / 2, y), (x + w / 2, y + h)]
                rules.append([float(side) for end in ends for side in back[:, :2] @ np.array(end) + back[:, 2]])
    return rules[:MAX_RULES]


def _strokes(ink: Any, shortest: int, *, is_across: bool) -> Sequence[Any]:
    """Left, top, width and height of the straight strokes in one direction."""
    gap, long = ((_GAP, 1), (shortest, 1)) if is_across else ((1, _GAP), (1, shortest))
    joined = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones(gap[::-1], np.uint8))
    strokes = cv2.morphologyEx(joined, cv2.MORPH_OPEN, np.ones(long[::-1], np.uint8))
    # The pieces of a line that is a little bent.
    thick = cv2.dilate(strokes, np.ones((3, 1) if is_across else (1, 3), np.uint8))
    count, _, found, _ = cv2.connectedComponentsWithStats(thick, connectivity=8)
    boxes = [tuple(int(side) for side in found[number][:4]) for number in range(1, min(count, 20 * MAX_RULES))]
    thin = [box for box in boxes if min(box[2], box[3]) <= _WIDEST and max(box[2], box[3]) >= shortest]
    return thin[:MAX_RULES]


def _angle(boxes: Any) -> float:
    """The angle of the long lines of text to the nearest side of the picture, in degrees."""
    angles: list[float] = []
    for box in boxes:
        long, short = max(_sides(box)), min(_sides(box))
        if long > 4 * short:
            (ax, ay), (bx, by), (cx, cy), _ = box
            top, side = (bx - ax, by - ay), (cx - bx, cy - by)
            dx, dy = top if np.hypot(*top) > np.hypot(*side) else side
            angles.append((float(np.degrees(np.arctan2(dy, dx))) + 45) % 90 - 45)
    return float(np.median(angles)) if angles else 0.0


def _sides(box: Any) -> tuple[float, float]:
    return float(np.linalg.norm(box[0] - box[1])), float(np.linalg.norm(box[1] - box[2]))


def _bounds(points: Any) -> tuple[float, float, float, float]:
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)
