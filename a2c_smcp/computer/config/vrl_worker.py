"""The program that compiles and runs VRL scripts, in a process of its own: one JSON request a line, one answer a line.

The compiler crashes on some inputs, holds the interpreter lock while it works, and lets a script read environment
variables. In its own process, a crash loses one answer, the lock blocks nothing else, and the environment is empty.
It imports nothing of this package, so that it starts fast.
"""

import json
import sys

from vrl_python import VRLRuntime  # pyright: ignore[reportMissingTypeStubs]


def answer(request: dict[str, object]) -> dict[str, object]:
    """`{"script"}` checks the script; `{"script", "event"}` runs it."""
    script = str(request["script"])
    if "event" not in request:
        diagnostic = VRLRuntime.check_syntax(script)
        return {"ok": True} if diagnostic is None else {"error": "; ".join(diagnostic.messages) or str(diagnostic)}
    try:
        result = VRLRuntime().execute(script, request["event"])  # pyright: ignore[reportArgumentType]
        return {"event": json.dumps(result.processed_event, ensure_ascii=False, separators=(",", ":"))}
    except Exception as error:  # the library raises RuntimeError, ValueError and TypeError alike
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {"error": lines[0] if lines else type(error).__name__}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
