"""Consumers: people with an account of their own, outside of every team."""
