"""Import paths of the Finder guide. The code is in `computer.offer.finder`."""
