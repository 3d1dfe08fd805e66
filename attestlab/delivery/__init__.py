"""Attestations on their way to whom they are for: told by e-mail, and waiting for those who have no account yet."""
