"""Table of annotations."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, text
from sqlmodel import Field

from attestlab.annotations.rules import MAX_TEXT_LENGTH
from attestlab.core.db.tables import model_of, short_repr


@short_repr
class AnnotationRecord(NamedTuple):
    """What happened at `at`, or from it to `until`, which is exclusive; a removed one stays as history."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    at: datetime
    until: datetime | None
    text: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]
    removed_at: datetime | None = None
    removed_by: Annotated[str | None, Field(max_length=64)] = None


Annotation = model_of(
    AnnotationRecord,
    "annotations",
    Index("ix_annotations_of_tenant", "tenant_id", "id", sqlite_where=text("removed_at IS NULL")),
)
