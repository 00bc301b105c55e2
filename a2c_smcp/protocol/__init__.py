"""The rules of A2C-SMCP as generators, without I/O. The Server and the clients perform what the generators yield."""
