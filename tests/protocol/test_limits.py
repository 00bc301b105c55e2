"""The token bucket: a burst at once, the rate over time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.protocol.limits import TokenBucket


def test_burst_then_rate() -> None:
    bucket = TokenBucket(rate=100, burst=1000)
    assert sum(bucket.take(10.0) for _ in range(1500)) == 1000
    assert sum(bucket.take(11.0) for _ in range(1500)) == 100
    assert sum(bucket.take(1000.0) for _ in range(1500)) == 1000


def test_no_rate_is_no_limit() -> None:
    bucket = TokenBucket(rate=0, burst=1)
    assert all(bucket.take(0.0) for _ in range(10_000))


@given(st.lists(st.floats(0, 0.5), max_size=200), st.integers(1, 50), st.integers(1, 20))
def test_never_more_than_burst_plus_rate_times_time(pauses: list[float], rate: int, burst: int) -> None:
    bucket, now, taken = TokenBucket(rate, burst), 100.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take(now)
    assert taken <= burst + rate * (now - 100.0) + 1e-6
