"""Who signs in: passwords, sessions, tokens."""
