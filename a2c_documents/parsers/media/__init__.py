"""Sound and film: what their headers say."""
