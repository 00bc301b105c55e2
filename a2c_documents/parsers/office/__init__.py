"""Readers that the office formats share: packages of XML parts and the content that all of them can have."""
