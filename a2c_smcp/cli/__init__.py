"""The `a2c` command. Commands import heavy modules inside their functions, so that `a2c --help` and Tab are fast."""
