"""What parsers of several formats need."""
