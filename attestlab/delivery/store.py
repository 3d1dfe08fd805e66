"""Queries for deliveries; columns are named, values are parameters."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.delivery.tables import Delivery, DeliveryRecord

deliveries = table_of(Delivery)


def get_delivery(execute: Execute, attestation_id: UUID, *, tenant_id: UUID) -> DeliveryRecord:
    """Return the delivery of a tenant's attestation.

    Raises:
        NotFound: the tenant has no such attestation, or it has no recipient.
    """
    mine = (deliveries.c.attestation_id == attestation_id, deliveries.c.tenant_id == tenant_id)
    delivery = fetch_one(execute(select(*deliveries.c).where(*mine)), DeliveryRecord)
    if delivery is None:
        raise NotFound("delivery of attestation", attestation_id)
    return delivery


def list_waiting(execute: Execute, address: str) -> list[DeliveryRecord]:
    """List the pending deliveries for this address, oldest first."""
    waits = (deliveries.c.recipient_email == address, deliveries.c.user_id.is_(None))
    query = select(*deliveries.c).where(*waits).order_by(deliveries.c.attestation_id)
    return fetch_all(execute(query), DeliveryRecord)
