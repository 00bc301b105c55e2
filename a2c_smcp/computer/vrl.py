"""VRL (Vector Remap Language): scripts are checked when a configuration loads and run on the results of tool calls.

Both happen in `vrl_worker`, a separate process. A script that fails, hangs or crashes costs a warning, never a result.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import json
import logging
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import orjson

from a2c_smcp.utils.extras import how_to_install
from a2c_smcp.utils.system.processes import LEAST_ENVIRONMENT  # a script can read it

logger = logging.getLogger(__name__)

MAX_SCRIPT = 20_000
"""Characters in a script."""
MAX_EVENT = 4_000_000
"""Bytes in an event: a larger result is not transformed."""
CHECK_SECONDS = 10.0
RUN_SECONDS = 5.0

_WORKER = [sys.executable, "-I", str(Path(__file__).with_name("vrl_worker.py"))]


@functools.lru_cache(maxsize=256)
def check(script: str) -> None:
    """Check the syntax of a script.

    Raises:
        ValueError: it is not a valid script, or VRL is not installed.
    """
    if len(script) > MAX_SCRIPT:
        raise ValueError(f"a script of {len(script)} characters; at most {MAX_SCRIPT} are allowed")
    if importlib.util.find_spec("vrl_python") is None:
        raise ValueError(f"VRL is not installed: {how_to_install('vrl')}")
    request = json.dumps({"script": script}) + "\n"
    try:
        done = subprocess.run(
            _WORKER,
            input=request,
            capture_output=True,
            text=True,
            timeout=CHECK_SECONDS,
            env=LEAST_ENVIRONMENT,
            check=False,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError("the VRL compiler did not finish with this script") from None
    except ValueError:
        raise ValueError("the VRL compiler crashed on this script: is it nested very deep?") from None
    if "error" in answer:
        raise ValueError(f"not a valid VRL script: {answer['error']}")


class Transformer:
    """Runs scripts, one at a time, in a worker that starts when it is first needed."""

    def __init__(self) -> None:
        self._worker: Process | None = None
        self._turn = asyncio.Lock()

    async def run(self, script: str, event: dict[str, Any], seconds: float = RUN_SECONDS) -> str | None:
        """The event after the script, as a JSON string; None, with a warning, when that did not work."""
        try:
            request = orjson.dumps({"script": script, "event": event})
        except TypeError:
            logger.warning("VRL: the result cannot be written as JSON")
            return None
        if len(request) > MAX_EVENT:
            logger.warning("VRL: a result of %d bytes is not transformed; at most %d are", len(request), MAX_EVENT)
            return None
        try:
            async with asyncio.timeout(seconds), self._turn:
                answer = await self._ask(request)
        except TimeoutError:
            logger.warning("VRL: the script did not finish within %g s", seconds)
            return None
        except (OSError, ValueError):
            logger.warning("VRL: the worker crashed")
            return None
        if "error" in answer:
            logger.warning("VRL: %s", answer["error"])
            return None
        return answer["event"]

    async def _ask(self, request: bytes) -> dict[str, Any]:
        worker = self._worker
        if worker is None or worker.returncode is not None:
            worker = self._worker = await asyncio.create_subprocess_exec(
                *_WORKER, stdin=PIPE, stdout=PIPE, env=LEAST_ENVIRONMENT, limit=4 * MAX_EVENT
            )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(request + b"\n")
            await worker.stdin.drain()
            return orjson.loads(await worker.stdout.readline())
        except BaseException:
            # Crashed, or abandoned with an answer on its way: the next one must not get this one's answer.
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            await asyncio.shield(worker.wait())
