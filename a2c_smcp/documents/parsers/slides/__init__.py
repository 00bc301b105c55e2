"""PowerPoint."""
