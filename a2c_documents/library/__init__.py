"""The documents of a folder: their facts, their pages, and full-text search."""
