"""The policy simulator: what a rule would have done."""
