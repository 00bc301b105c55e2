"""A recognizer for `--ocr-command` that reads the brightness of a picture: `shade200`, in two lines.

At a dark picture it misbehaves in the way that `--dark` names.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from PIL import Image, ImageStat

DARK = 100


def line(words: str, confidence: float, top: int, height: int) -> dict[str, Any]:
    right, bottom = 2 + len(words) * height // 2, top + height
    return {"text": words, "confidence": confidence, "box": [2, top, right, top, right, bottom, 2, bottom]}


def misbehave(how: str) -> str:
    if how == "crash":
        os.kill(os.getpid(), 9)
    if how == "hang":
        time.sleep(3_600)
    if how == "grow":
        held = bytearray(os.urandom(1 << 20) * 400)
        time.sleep(3_600)
        return str(len(held))
    if how == "refuse":
        return json.dumps({"problem": "it is too dark to read"})
    return '{"lines": [{"text": 5}]}'


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dark", default="")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--gate", type=Path, help="A file without which nothing is answered.")
    options = parser.parse_args()
    for request in sys.stdin:
        picture = Image.open(io.BytesIO(base64.b64decode(json.loads(request)["picture"])))
        shade = round(ImageStat.Stat(picture.convert("L")).mean[0])
        if options.log is not None:
            with options.log.open("a") as log:
                log.write(f"{shade}\n")
        while options.gate is not None and not options.gate.exists():
            time.sleep(0.01)
        if shade < DARK and options.dark:
            answer = misbehave(options.dark)
        else:
            lines = [
                line(f"This picture has shade{shade}.", 0.9, 20, 30),
                line("Nothing else is written on this page of the file.", 0.7, 80, 14),
            ]
            answer = json.dumps({"lines": lines})
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
