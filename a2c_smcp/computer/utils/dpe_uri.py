"""`a2c_smcp.utils.dpe_uri` under the name the Finder guide gives it."""

from a2c_smcp.utils.dpe_uri import ELEMENT_TYPES, ParsedDPEUri, build_dpe_uri, is_dpe_uri, parse_dpe_uri

__all__ = ["ELEMENT_TYPES", "ParsedDPEUri", "build_dpe_uri", "is_dpe_uri", "parse_dpe_uri"]
