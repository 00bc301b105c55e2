"""Failed logins by address, so that nobody can try many keys."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from a2c_smcp.errors import RateLimitedError

MOST = 20
"""Failed logins of one address in a window."""
WINDOW_SECONDS = 60.0
MOST_ADDRESSES = 10_000


class Attempts:
    """Counts failed logins. A login that succeeds is not counted."""

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def check(self, address: str) -> None:
        """Reject a login of an address with too many failures.

        Raises:
            RateLimitedError: it has to wait.
        """
        began, count = self._failed.get(_network(address), (0.0, 0))
        left = began + WINDOW_SECONDS - self._clock()
        if count >= self._most and left > 0:
            raise RateLimitedError(
                f"too many failed logins from this address: try again in {math.ceil(left)} s",
                details={"retry_after": math.ceil(left)},
            )

    def fail(self, address: str) -> None:
        """Count a failed login."""
        key, now = _network(address), self._clock()
        began, count = self._failed.pop(key, (now, 0))
        if now - began >= WINDOW_SECONDS:
            began, count = now, 0
        self._failed[key] = began, count + 1
        while len(self._failed) > MOST_ADDRESSES:
            self._failed.popitem(last=False)


def _network(address: str) -> str:
    """What one person has: an address of IPv4, or a network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
