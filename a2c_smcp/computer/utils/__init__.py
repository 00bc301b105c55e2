"""Helpers of the Computer, under the names its programs import."""
