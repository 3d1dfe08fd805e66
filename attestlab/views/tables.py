"""Table of saved views."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.views.rules import MAX_NAME_LENGTH, MAX_QUERY_LENGTH


@short_repr
class SavedViewRecord(NamedTuple):
    """The filters of a page by a name; of a deleted view only the row remains, without name and query."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    user_id: Annotated[UUID, Field(foreign_key="users.id")]
    name: Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
    page: Annotated[str, Field(max_length=16)]
    query: Annotated[str, Field(max_length=MAX_QUERY_LENGTH)]
    is_shared: bool
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


SavedView = model_of(
    SavedViewRecord,
    "saved_views",
    Index("ix_saved_views_of_tenant", "tenant_id", "id"),
    Index("ix_saved_views_of_user", "user_id", "id"),
)
