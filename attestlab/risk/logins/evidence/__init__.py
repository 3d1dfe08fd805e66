"""The kinds of evidence for an account takeover; each is a pure function of the circumstances of one login."""
