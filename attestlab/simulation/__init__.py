"""Simulation: what a policy would have decided, over recorded decisions."""
