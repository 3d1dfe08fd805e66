"""Whom do we trust: requests about an issuer's standing, who approves them, and what they would touch."""
