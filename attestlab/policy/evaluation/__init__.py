"""Evaluation of policies: bind names and types, evaluate, combine, explain."""
