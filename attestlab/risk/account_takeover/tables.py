"""Table of what is known about the values of logins."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class LoginDocument(SQLModel, table=True):
    """What is known about one user, address, device or other value of a tenant's logins.

    `digest` is that of the kind and the value, so the table names no user and no address. `document` is JSON of at most
    four kilobytes; after `expires_at` no score depends on it.
    """

    __tablename__ = "risk_login_documents"
    __table_args__ = {"sqlite_with_rowid": False}  # SQLAlchemy's

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    digest: bytes = Field(primary_key=True, sa_type=LargeBinary)
    kind: str = Field(max_length=16)
    document: str = Field(max_length=4096)
    expires_at: datetime = Field(index=True)


@short_repr
class LoginDocumentRecord(NamedTuple):
    """A row of `risk_login_documents`."""

    tenant_id: UUID
    digest: bytes
    kind: str
    document: str
    expires_at: datetime
