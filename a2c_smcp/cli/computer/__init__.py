"""`a2c computer`: a Computer at the prompt, as a service, or for one command."""
