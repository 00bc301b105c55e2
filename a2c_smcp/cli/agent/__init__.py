"""`a2c agent`: an Agent at the prompt, or for one command."""
