"""The API of a Computer for its owner: on a Unix socket, and on loopback with a token."""
