"""Workbooks of every kind."""
