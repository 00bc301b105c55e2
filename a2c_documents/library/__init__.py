"""The documents of a folder: what each says of itself, its pages, and where words occur."""
