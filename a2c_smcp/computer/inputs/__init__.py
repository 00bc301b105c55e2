"""Values that a configuration leaves open: where they come from, and how they get into the configuration."""
