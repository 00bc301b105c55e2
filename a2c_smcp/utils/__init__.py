"""Helpers below all other layers: addresses, results, logging, and the differences between operating systems."""

from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, is_dpe_uri, parse_dpe_uri
from a2c_smcp.utils.window_uri import WindowURI, is_window_uri

__all__ = ["ParsedDPEUri", "WindowURI", "build_dpe_uri", "is_dpe_uri", "is_window_uri", "parse_dpe_uri"]
