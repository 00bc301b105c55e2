"""Elements as lines of Markdown and text."""
