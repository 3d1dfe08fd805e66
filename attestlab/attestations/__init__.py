"""Attestations: mint, revoke, supersede and list them, and verify them online and offline."""
