"""A worker of `a2c server --workers`: a Server on a socket of its parent.

Its settings are in its environment. It writes one line to standard output: that it is ready, or why it cannot be.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from a2c_smcp.cli.server import load, why_it_cannot_serve
from a2c_smcp.cli.workers import READY
from a2c_smcp.server.cluster.link import UnusableRedis
from a2c_smcp.server.serving import serve
from a2c_smcp.server.setting_problems import SettingsError, load_settings
from a2c_smcp.utils.garbage import collect_less_often
from a2c_smcp.utils.system.sockets import take_over


def main(number: str, listener: str) -> None:
    """Serve until a signal arrives."""
    collect_less_often()
    config = Path(os.environ["A2C_CONFIG"]) if "A2C_CONFIG" in os.environ else None
    try:
        settings, provider = load({}, config, worker=int(number))
    except SettingsError as error:
        _fail(str(error), 2)
    try:
        serve(
            settings,
            provider,
            lambda url: print(READY, url, flush=True),
            listener=take_over(listener),
            load=lambda: load_settings({}, config),
        )
    except (OSError, UnusableRedis) as error:
        _fail(*why_it_cannot_serve(error, settings))


def _fail(reason: str, code: int) -> NoReturn:
    print("failed", reason, flush=True)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
