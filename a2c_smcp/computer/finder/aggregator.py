"""`a2c_smcp.computer.offer.finder.aggregator` under the path that programs import."""

from a2c_smcp.computer.offer.finder.aggregator import FinderAggregator

__all__ = ["FinderAggregator"]
