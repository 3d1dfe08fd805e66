"""Tenants, their organisations, people and API keys: who is calling, and with which rights."""
