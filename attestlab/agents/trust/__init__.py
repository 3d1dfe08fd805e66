"""Trust: one published formula that turns evidence about a machine agent into a score (CONTRACT 11.11)."""
