"""What `examples/library` is made of: one fictional company, and a function for each of its files."""
