"""The table of receipt types: one row for each version, which never changes but to be deprecated."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class ReceiptTypeRecord(NamedTuple):
    """A version of a receipt type.

    `ordinal` counts the versions of a name from 1: each is higher than those before, so the highest ordinal is the
    newest version. `schema_text` is a JSON Schema in the form of RFC 8785, and `schema_hash` its SHA-256.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=64)]
    version: Annotated[str, Field(max_length=64)]
    ordinal: int
    display_name: Annotated[str, Field(max_length=200)]
    description: Annotated[str, Field(max_length=2000)]
    schema_text: Annotated[str, Field(sa_type=Text)]
    schema_hash: Annotated[str, Field(max_length=43)]
    status: Annotated[str, Field(max_length=16)]
    created_at: datetime
    deprecated_at: datetime | None = None
    deprecation_reason: Annotated[str | None, Field(max_length=1000)] = None


ReceiptType = model_of(
    ReceiptTypeRecord,
    "receipt_types",
    Index("ix_receipt_types_of_tenant", "tenant_id", "id"),
    Index("ix_receipt_types_of_name", "tenant_id", "name", "ordinal", unique=True),
    Index("ix_receipt_types_of_version", "tenant_id", "name", "version", unique=True),
)
