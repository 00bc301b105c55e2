"""Archives: the files in them, as documents of their own."""
