"""`a2c_smcp.computer.offer.desktop.organize` under the path that programs import."""

from a2c_smcp.computer.offer.desktop.organize import organize_desktop

__all__ = ["organize_desktop"]
