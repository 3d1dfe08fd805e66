"""Accounts of consumers: sign-up, username, further addresses, export and deletion (CONTRACT 11.1)."""
