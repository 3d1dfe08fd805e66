"""Verification packs: attestations minted together under one id, and listed by it."""
