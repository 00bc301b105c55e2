"""OpenDocument texts and presentations; `sheets` reads OpenDocument spreadsheets."""
