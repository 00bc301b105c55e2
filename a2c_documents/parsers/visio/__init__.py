"""Visio drawings."""
