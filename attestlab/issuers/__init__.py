"""Issuers and their signing keys: profiles, keys, governance attributes, domain proofs and logos."""
