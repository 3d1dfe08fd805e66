"""Annotations: what happened at a time or in a period, for all people of the tenant."""
