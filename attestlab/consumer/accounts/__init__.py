"""Accounts of consumers: sign-up, profile, further addresses, export and deletion (CONTRACT 11.1)."""
