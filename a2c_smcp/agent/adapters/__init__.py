"""Toolkits for agent frameworks. Each module imports its framework, so a program imports the one that it uses."""
