"""The delays between attempts."""

from __future__ import annotations

import pytest

from a2c_smcp.utils.backoff import Backoff


def test_delays_double_up_to_the_longest_and_start_again_after_a_reset() -> None:
    backoff = Backoff(0.5, 3.0, jitter=0)
    assert [backoff.next() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert [backoff.next(), backoff.next()] == [0.5, 1.0]


def test_the_factor_can_be_chosen() -> None:
    backoff = Backoff(1.0, 100.0, factor=3, jitter=0)
    assert [backoff.next() for _ in range(3)] == [1.0, 3.0, 9.0]


def test_jitter_varies_each_delay_within_its_fraction() -> None:
    backoff = Backoff(8.0, 8.0, jitter=0.25)
    delays = [backoff.next() for _ in range(100)]
    assert all(6.0 <= delay <= 10.0 for delay in delays)
    assert len(set(delays)) > 1


def test_delays_of_a_caller_that_counts_for_itself() -> None:
    backoff = Backoff(0.5, 3.0, jitter=0)
    assert [backoff.after(failures) for failures in (3, 1, 2)] == [2.0, 0.5, 1.0]


@pytest.mark.parametrize("jitter", [0.0, 0.25, 2.0])
def test_no_number_of_failures_is_too_large_and_no_delay_is_negative(jitter: float) -> None:
    backoff = Backoff(0.5, 30.0, jitter=jitter)
    assert all(0 <= backoff.after(10**9) <= 30.0 * (1 + jitter) for _ in range(100))
