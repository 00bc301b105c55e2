"""The files of the folder: which of them are documents, and their references."""
