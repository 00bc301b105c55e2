"""The Server's console: the API at `/api/v1` and the pages at `/console` for its operator."""
