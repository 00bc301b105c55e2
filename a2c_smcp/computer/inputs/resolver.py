"""`a2c_smcp.computer.config.inputs` under the path that programs import."""

from a2c_smcp.computer.config.inputs import InputResolver

__all__ = ["InputResolver"]
