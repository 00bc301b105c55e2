"""Import paths of the protocol's documents and of the published package. The code is in the layers below."""
