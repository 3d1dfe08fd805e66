"""Votes of independent agents about a claim that another agent makes (CONTRACT 11.11)."""
