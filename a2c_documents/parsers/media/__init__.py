"""Audio and video files, by their headers."""
