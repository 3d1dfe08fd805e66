"""Signatures, keys, passwords and the canonical bytes that are signed."""
