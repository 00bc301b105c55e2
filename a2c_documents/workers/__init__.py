"""The processes that read files, within limits of time and memory."""
