"""Sessions of machine agents: short tokens within an agent's scopes (CONTRACT 11.9)."""
