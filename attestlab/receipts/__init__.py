"""Receipts: signed and logged records of events, each of a type that its tenant declares (CONTRACT 11.5)."""
