"""Delegation: signed grants from one machine agent to the next, each within the one before (CONTRACT 11.10)."""
