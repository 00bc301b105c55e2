"""An import path of the published package. The code is in `computer.offer.desktop`."""
