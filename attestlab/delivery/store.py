"""The table of deliveries, and its queries; columns are named, values are parameters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.errors import NotFound


@short_repr
class DeliveryRecord(NamedTuple):
    """An attestation with a recipient; `user_id` is the recipient's account, if any."""

    attestation_id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id")]
    recipient_email: Annotated[str, Field(max_length=254, index=True)]
    user_id: Annotated[UUID | None, Field(foreign_key="users.id", index=True)]
    state: Annotated[str, Field(max_length=10)]
    created_at: datetime
    delivered_at: datetime | None


Delivery = model_of(DeliveryRecord, "deliveries")
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
