"""JSON, YAML, TOML and XML."""
