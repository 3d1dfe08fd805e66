"""Verification profiles: named sets of policies that a tenant lets verifiers apply."""
