"""Modules that parsers of several formats share."""
