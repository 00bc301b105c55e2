"""`a2c agent`."""
