"""Spreadsheets of all formats."""
