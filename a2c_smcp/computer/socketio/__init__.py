"""The Computer's connection to the Server."""
