"""Cryptography: signatures, keys, passwords, and the canonical JSON that is signed."""
