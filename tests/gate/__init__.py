"""The gate: runs tests by their cost, tries again alone what failed, and names chance instead of hiding it."""
