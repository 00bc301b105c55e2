"""OpenDocument texts and slides (sheets are read in `sheets`)."""
