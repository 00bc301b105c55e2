"""What Server, Computer and Agent cost, as ratios to a floor measured in the same run: `python -m benchmarks`."""
