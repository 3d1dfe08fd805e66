"""Velocity: how often an entity did one thing within sliding windows of a minute to a day."""
