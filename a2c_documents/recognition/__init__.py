"""Text recognition in a process of its own."""
