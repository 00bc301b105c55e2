"""Toolkits for agent frameworks. Each module needs its framework, and is imported by who has it."""
