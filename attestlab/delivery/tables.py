"""The table of deliveries."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class Delivery(SQLModel, table=True):
    """An attestation with a recipient; `user_id` is the recipient's account, if any."""

    __tablename__ = "deliveries"

    attestation_id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    issuer_id: UUID = Field(foreign_key="issuers.id")
    recipient_email: str = Field(max_length=254, index=True)
    user_id: UUID | None = Field(default=None, foreign_key="users.id", index=True)
    state: str = Field(max_length=10)
    created_at: datetime
    delivered_at: datetime | None = None


@short_repr
class DeliveryRecord(NamedTuple):
    """A row of `deliveries`."""

    attestation_id: UUID
    tenant_id: UUID
    issuer_id: UUID
    recipient_email: str
    user_id: UUID | None
    state: str
    created_at: datetime
    delivered_at: datetime | None
