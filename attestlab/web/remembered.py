"""The row behind `idempotency`."""

from datetime import datetime

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel


class RememberedAnswer(SQLModel, table=True):
    """An answer that was given, under the hash of tenant, route and key; kept for a day."""

    __tablename__ = "remembered_answers"

    place: bytes = Field(primary_key=True, sa_type=LargeBinary)
    fingerprint: bytes = Field(sa_type=LargeBinary)
    status: int
    headers: bytes = Field(sa_type=LargeBinary)
    body: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = Field(index=True)
