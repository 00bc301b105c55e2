"""The pipes of a worker process to the server."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the server, moved to other descriptors.

    Native libraries print warnings to descriptors 1 and 2. One such line between two replies would be read as a reply,
    so the standard descriptors lead to the null device.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    sys.stdout = sys.stderr = io.TextIOWrapper(open(os.devnull, "wb"))  # noqa: SIM115
    return requests, answers
