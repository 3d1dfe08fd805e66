"""Bundles: one file that verifies offline, and what a verifier adds to it."""
