"""Detection of account takeover: a pure function from a login and what is known about its values to a score."""
