"""Commands for a Computer that runs, from another terminal of its owner."""
