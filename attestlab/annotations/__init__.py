"""Annotations: what happened at a time or in a period, which every chart over time shows."""
