"""A served tenant with people and keys."""

from __future__ import annotations

from support.risk import key, tenant_clients

__all__ = ["key", "tenant_clients"]
