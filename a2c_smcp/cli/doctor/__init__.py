"""`a2c doctor`: what keeps a Server, a Computer or an Agent from working here, and what to do about it."""
