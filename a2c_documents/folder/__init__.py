"""The files of the folder: which of them are documents, and what each is called."""
