"""A2C-SMCP: an Agent uses tools, live context and documents on remote Computers, through a Server both dial out to."""

__version__ = "0.1.0"
