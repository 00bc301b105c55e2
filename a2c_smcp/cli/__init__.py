"""The `a2c` command. Heavy imports happen inside commands: `a2c --help` answers at once."""
