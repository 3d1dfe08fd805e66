"""Runs: a ledger of what agents did, step by step; it executes nothing (CONTRACT 11.12)."""
