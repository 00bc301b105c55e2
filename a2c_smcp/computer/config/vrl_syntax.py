"""VRL (Vector Remap Language) scripts are checked when a configuration loads; `offer.vrl` runs them.

Both happen in `vrl_worker`, a separate process.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from a2c_smcp.utils.extras import how_to_install
from a2c_smcp.utils.system.processes import LEAST_ENVIRONMENT

MAX_SCRIPT = 20_000
"""Characters in a script."""
CHECK_SECONDS = 10.0

# `-I`: otherwise the folder of the script is the first place for imports, and its `secrets.py` hides the module of the
# standard library.
WORKER = [sys.executable, "-I", str(Path(__file__).with_name("vrl_worker.py"))]
ENVIRONMENT = LEAST_ENVIRONMENT  # a script can read it


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
    # In the worker, too: a script that is nested too deeply crashes the compiler, and with it the process.
    request = json.dumps({"script": script}) + "\n"
    try:
        done = subprocess.run(
            WORKER, input=request, capture_output=True, text=True, timeout=CHECK_SECONDS, env=ENVIRONMENT, check=False
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError("the VRL compiler did not finish with this script") from None
    except ValueError:
        raise ValueError("the VRL compiler crashed on this script: is it nested very deep?") from None
    if "error" in answer:
        raise ValueError(f"not a valid VRL script: {answer['error']}")
