"""What was read of files, kept so that nothing is read twice."""
