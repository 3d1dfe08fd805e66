"""The table of deliveries."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


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
