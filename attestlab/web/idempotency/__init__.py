"""Idempotency keys: a repeated request gets the stored response of the first."""
