"""What Server and Computer cost, as ratios to a floor measured in the same run: `python -m benchmarks`."""
