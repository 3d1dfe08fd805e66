"""Queries for deliveries; columns are named, values are parameters."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select

from attestlab.core.db.tables import Execute, table_of
from attestlab.core.errors import NotFound
from attestlab.delivery.tables import Delivery

deliveries = table_of(Delivery)


def get_delivery(execute: Execute, attestation_id: UUID, *, tenant_id: UUID) -> dict[str, Any]:
    """Returns the delivery of a tenant's attestation.

    Raises:
        NotFound: the tenant has no such attestation, or it has no recipient.
    """
    mine = (deliveries.c.attestation_id == attestation_id, deliveries.c.tenant_id == tenant_id)
    row = execute(select(*deliveries.c).where(*mine)).mappings().first()
    if row is None:
        raise NotFound("delivery of attestation", attestation_id)
    return dict(row)


def list_waiting(execute: Execute, address: str) -> list[dict[str, Any]]:
    """Lists the pending deliveries for this address, oldest first."""
    waits = (deliveries.c.recipient_email == address, deliveries.c.user_id.is_(None))
    result = execute(select(*deliveries.c).where(*waits).order_by(deliveries.c.attestation_id))
    return [dict(row) for row in result.mappings()]
