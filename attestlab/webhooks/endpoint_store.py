"""Queries of webhook endpoints; a deleted endpoint counts as missing."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, delete, func, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.webhooks.tables import WebhookEndpoint, WebhookEndpointHealth, WebhookEndpointRecord

endpoints = table_of(WebhookEndpoint)
health = table_of(WebhookEndpointHealth)


def get_endpoint(execute: Execute, endpoint_id: UUID, *, tenant_id: UUID) -> WebhookEndpointRecord:
    """Get an endpoint of the tenant.

    Raises:
        NotFound: the tenant has no such endpoint.
    """
    row = fetch_one(execute(_of_tenant(tenant_id).where(endpoints.c.id == endpoint_id)), WebhookEndpointRecord)
    if row is None:
        raise NotFound("webhook endpoint", endpoint_id)
    return row


def list_endpoints(
    execute: Execute, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[WebhookEndpointRecord]:
    """List the tenant's endpoints, newest first."""
    query = _of_tenant(tenant_id)
    if before is not None:
        query = query.where(endpoints.c.id < before)
    return fetch_all(execute(query.order_by(endpoints.c.id.desc()).limit(limit)), WebhookEndpointRecord)


def count_endpoints(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's endpoints, disabled ones included."""
    existing = (endpoints.c.tenant_id == tenant_id, endpoints.c.deleted_at.is_(None))
    count: int = execute(select(func.count()).select_from(endpoints).where(*existing)).scalar_one()
    return count


def list_with_secrets(execute: Execute) -> list[WebhookEndpointRecord]:
    """List the endpoints of all tenants whose secrets are stored."""
    query = select(*endpoints.c).where(endpoints.c.deleted_at.is_(None)).order_by(endpoints.c.id)
    return fetch_all(execute(query), WebhookEndpointRecord)


def delete_health(tx: Transaction, endpoint_id: UUID) -> None:
    """Delete the record of an endpoint's failures."""
    tx.exec(delete(health).where(health.c.endpoint_id == endpoint_id))


def _of_tenant(tenant_id: UUID) -> Select[tuple[object, ...]]:
    return select(*endpoints.c).where(endpoints.c.tenant_id == tenant_id, endpoints.c.deleted_at.is_(None))
