"""The cache of contents that were read from files."""
