"""The rules of A2C-SMCP, without I/O: what must happen, as generators; who does it is a shell's business."""
