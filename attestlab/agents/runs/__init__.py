"""A ledger of runs: what agents planned, what they recorded of each step, and the proof of it (CONTRACT 11.12)."""
