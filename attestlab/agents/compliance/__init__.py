"""Compliance: self-assessment of agents, issuers and tenants by controls over their own data (CONTRACT 11.11)."""
