"""`a2c_smcp.computer.offer.finder.organize` under the path that programs import."""

from a2c_smcp.computer.offer.finder.organize import organize_finder

__all__ = ["organize_finder"]
