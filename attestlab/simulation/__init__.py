"""Simulation: what a policy would have done, over the decisions that were made."""
