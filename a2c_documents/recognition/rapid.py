"""A recognizer: RapidOCR in a process of its own, which reads one picture at a time.

Nothing is ever downloaded: each model is given by its path. The models of the package are used for those that a
configured folder does not have.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from onnxruntime import InferenceSession
from PIL import Image
from rapidocr import RapidOCR
from rapidocr.main import RapidOCRError

from a2c_documents.recognition.models import BrokenModelsError, Models
from a2c_documents.recognition.rules import rules_of
from a2c_documents.workers.streams import private_streams
from a2c_smcp.utils.garbage import collect_less_often
from a2c_smcp.utils.system.processes import end_with_parent, give_way
from a2c_smcp.utils.system.resources import limit_memory

MAX_THREADS = 4
_MAX_PIXELS = 20_000_000
_MARGIN, _NARROW, _FLAT = 24, 100, 8
"""Pixels around a picture that is lower than this, or as many times as wide as it is high: text at the edge is lost."""
_DOUBT, _SAMPLE = 0.15, 4
"""The part of the text that seems to be upside down by mistake, and the lines that are tried."""
_TALL, _STROKE = 1.5, 3.0
"""Height in widths: of text that RapidOCR turns, and of a single letter that it should not have turned."""


class Reader:
    """The models, loaded."""

    def __init__(self, models: Models) -> None:
        threads = min(os.cpu_count() or 1, MAX_THREADS)
        parameters: dict[str, Any] = {
            "Global.log_level": "critical",
            "Global.use_vertical_padding": False,
            "Global.return_word_box": True,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "Det.model_path": str(models.detection),
            "Cls.model_path": str(models.direction),
            "Rec.model_path": str(models.recognition),
        }
        if models.letters is not None:
            parameters["Rec.rec_keys_path"] = str(models.letters)
        # Without letters, RapidOCR would download some.
        if models.letters is None and "character" not in _metadata(models.recognition):
            raise BrokenModelsError(f"{models.recognition} has no letters: add its dictionary, a file such as keys.txt")
        self._ocr = RapidOCR(params=parameters)
        # Models are loaded when they are used first. A broken one should not count as a failure of a page.
        blank = np.full((64, 320, 3), 255, np.uint8)
        with suppress(RapidOCRError):
            self._ocr.detect_and_crop(blank, {})
        self._ocr.cls_and_rotate([blank])
        self._ocr.recognize_txt([blank])

    def read(self, picture: Image.Image) -> dict[str, Any]:
        """The lines of a picture, and the straight lines in it."""
        pixels, margin = _padded(cv2.cvtColor(np.asarray(picture.convert("RGB")), cv2.COLOR_RGB2BGR))
        try:
            crops, found = self._ocr.detect_and_crop(pixels, {})
        except RapidOCRError:  # there is no text
            return {"lines": [], "rules": []}
        boxes = found.boxes
        turned, corners = self._upright(crops, boxes)
        read = self._ocr.recognize_txt(turned)
        lines = [
            {
                "text": text,
                "confidence": min(max(round(float(score), 4), 0.0), 1.0),
                "box": [round(float(side) - margin, 1) for point in place for side in point],
                "words": _words(spans),
            }
            for text, score, place, spans in zip(read.txts, read.scores, corners, read.word_results, strict=True)
            if text.strip()
        ]
        rules = rules_of(pixels, boxes)
        return {"lines": lines, "rules": [[round(side - margin, 1) for side in rule] for rule in rules]}

    def _upright(self, crops: list[Any], boxes: Any) -> tuple[list[Any], list[Any]]:
        """The pictures of the lines, turned so that they can be read, and their corners in the reading direction.

        RapidOCR decides for each line whether it is upside down, and is often wrong for short or noisy ones. Here, all
        lines that run in the same direction are turned together.
        """
        _, directions = self._ocr.cls_and_rotate(crops)
        lines = list(
            zip(crops, [label for label, _ in directions.cls_res], [_ratio(box) for box in boxes], strict=True)
        )
        groups = {
            tall: [(crop, label) for crop, label, ratio in lines if (ratio >= _TALL) is tall] for tall in (False, True)
        }
        extent = {tall: sum(crop.shape[1] for crop, _ in group) for tall, group in groups.items()}
        is_down = {tall: self._is_down(group) for tall, group in groups.items()}
        turned: list[Any] = []
        corners: list[Any] = []
        for (crop, _, ratio), box in zip(lines, boxes, strict=True):
            points, tall = list(box), ratio >= _TALL
            if tall and extent[False] > extent[True] and ratio < _STROKE:
                crop, tall = np.rot90(crop, -1), False  # a single letter or digit
            if tall:
                points = points[1:] + points[:1]  # RapidOCR turns it so that its right side is on top
            if is_down[tall]:
                crop, points = np.rot90(crop, 2), points[2:] + points[:2]
            turned.append(np.ascontiguousarray(crop))
            corners.append(points)
        return turned, corners

    def _is_down(self, lines: list[tuple[Any, str]]) -> bool:
        """Whether lines are upside down. In doubt, the longest are read in both directions."""
        total = sum(crop.shape[1] for crop, _ in lines)
        if sum(crop.shape[1] for crop, label in lines if "180" in label) <= _DOUBT * total:
            return False
        longest = sorted((crop for crop, _ in lines), key=lambda crop: -crop.shape[1])[:_SAMPLE]
        ways = (longest, [np.ascontiguousarray(np.rot90(crop, 2)) for crop in longest])
        upright, down = (sum(map(float, self._ocr.recognize_txt(way).scores)) for way in ways)
        return down > upright


def _metadata(model: Path) -> dict[str, str]:
    return InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_modelmeta().custom_metadata_map


def _ratio(box: Any) -> float:
    """The height of a box in its widths, as RapidOCR compares them."""
    width = int(max(np.linalg.norm(box[0] - box[1]), np.linalg.norm(box[2] - box[3])))
    height = int(max(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[1] - box[2])))
    return height / max(width, 1)


def _padded(pixels: Any) -> tuple[Any, int]:
    height, width = pixels.shape[:2]
    if height >= _NARROW and width <= _FLAT * height:
        return pixels, 0
    ground = [float(side) for side in np.median(pixels.reshape(-1, 3), axis=0)]
    padded = cv2.copyMakeBorder(
        pixels, _MARGIN, _MARGIN, _MARGIN, _MARGIN, cv2.BORDER_CONSTANT, value=(ground[0], ground[1], ground[2])
    )
    return padded, _MARGIN


def _words(spans: Any) -> list[list[Any]]:
    """The words of a line: where each begins and ends, as a part of its length, and the word."""
    if spans is None or not spans.line_txt_len:
        return []
    words: list[list[Any]] = []
    for letters, columns, kind in zip(spans.words, spans.word_cols, spans.word_types, strict=True):
        # Scripts without spaces have a word for each letter: a line of a table may be between any two.
        single = [([one], [at]) for one, at in zip(letters, columns, strict=True)]
        parts = [(letters, columns)] if kind.name == "EN_NUM" else single
        for part, places in parts:
            ends = [min(max((place + half) / spans.line_txt_len, 0.0), 1.0) for place, half in
                    ((places[0], 0.0), (places[-1], 1.0))]  # fmt: skip
            words.append([round(ends[0], 4), round(ends[1], 4), "".join(part)])
    return words


def answer(reader: Reader, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(request["picture"])), formats=("JPEG", "PNG")) as picture:
            if picture.width * picture.height > _MAX_PIXELS:
                return {"problem": f"{picture.width} × {picture.height} pixels are too many"}
            return reader.read(picture)
    except MemoryError:
        return {"problem": "recognizing it takes more memory than it may have"}
    except OSError as error:
        return {"problem": f"the picture cannot be decoded: {error}"}
    except Exception as error:
        # Libraries raise anything. The process stays usable.
        return {"problem": f"recognizing it failed: {type(error).__name__}: {error}"[:500]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer requests until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--models", type=Path)
    options = parser.parse_args(arguments)
    collect_less_often()
    requests, answers = private_streams()
    limit_memory(options.memory)
    end_with_parent()
    give_way()
    reader: Reader | None = None
    for line in requests:
        try:
            reader = reader or Reader(Models.of(options.models))
            reply = answer(reader, json.loads(line))
        except Exception as error:
            # Without models there is nothing to do: the server tells why, and tries again later.
            told = str(error) if isinstance(error, BrokenModelsError) else f"the models cannot be loaded: {error}"[:300]
            reply = {"problem": told, "cause": "machine"}
        answers.write(json.dumps(reply).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
