"""One module for each format. They know files and nothing else: no URIs, no protocol, no event loop."""
