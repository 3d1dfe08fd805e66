"""Tenants, their organizations, people and API keys; authentication and permissions of callers."""
