"""Verification packs: groups of related attestations, which share a pack id and are listed by it."""
