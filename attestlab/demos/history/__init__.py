"""The past of the demo world: a year of policy decisions, risk signals and cases, seeded and loaded in bulk."""
