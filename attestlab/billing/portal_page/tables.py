"""The table of the portal: the links that were given out."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class PortalLinkRecord(NamedTuple):
    """A link to the embedded portal, of whose token only the SHA-256 is stored.

    `actor_type` and `actor_id` are those of the caller who asked for it, on whose behalf its visitors act.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id", index=True)]
    token_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    actor_type: Annotated[str, Field(max_length=8)]
    actor_id: Annotated[str, Field(max_length=64)]
    return_url: Annotated[str, Field(max_length=2048)]
    flow: Annotated[str | None, Field(max_length=8)]
    created_at: datetime
    expires_at: datetime


PortalLink = model_of(PortalLinkRecord, "billing_portal_links")
