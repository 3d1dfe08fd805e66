"""`agents.*`: what machine agents cost, as ratios of sides that are measured in turn."""
