"""Risk signals: each says that one entity looked risky at one moment, to a degree of 0 to 100."""
