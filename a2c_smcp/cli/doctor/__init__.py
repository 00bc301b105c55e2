"""`a2c doctor`: problems that keep a Server, a Computer or an Agent from working on this machine, with advice."""
