"""A served tenant whose key records signals."""

from __future__ import annotations

from support.risk import key, tenant_clients

__all__ = ["key", "tenant_clients"]
