"""Oversight of a fleet of agents: who answers for each, what wants a look, and the tree of who let whom."""
