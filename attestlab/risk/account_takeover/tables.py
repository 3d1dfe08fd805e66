"""Tables of what is known about the values of logins, and of a past that is being loaded."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class LoginDocument(SQLModel, table=True):
    """What is known about one user, address, device or other value of a tenant's logins.

    `digest` is that of the kind and the value, so the table names no user and no address. `document` is JSON of at most
    four kilobytes; for a login after `expires_at` it is as if it were missing. Of a value there may be one document
    in each generation of `risk_login_learning`.
    """

    __tablename__ = "risk_login_documents"
    __table_args__ = (
        Index("ix_risk_login_documents_by_end", "tenant_id", "expires_at"),
        {"sqlite_with_rowid": False},  # SQLAlchemy's
    )

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    generation: int = Field(primary_key=True)
    digest: bytes = Field(primary_key=True, sa_type=LargeBinary)
    kind: str = Field(max_length=16)
    document: str = Field(max_length=4096)
    expires_at: datetime


@short_repr
class LoginDocumentRecord(NamedTuple):
    """A row of `risk_login_documents`."""

    tenant_id: UUID
    generation: int
    digest: bytes
    kind: str
    document: str
    expires_at: datetime


class LoginLearning(SQLModel, table=True):
    """What a tenant's documents have learnt, and how far a past that is being loaded is learnt.

    Documents of the generation `published` are read before those of `base`, which do not change while a past is
    loaded. The learner writes those of `draft`: the published ones, or others that are published once they are whole.
    `cursor_ms` and `cursor_id` are the last row that the draft has learnt, in the order of rows. `is_stale` says that
    a row has come that belongs before the cursor, so the draft must begin again.
    """

    __tablename__ = "risk_login_learning"

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    newest_at: datetime  # of the logins that were learnt, at most an hour behind
    pruned_until: datetime  # documents that had expired by then are deleted
    base: int
    published: int
    draft: int
    cursor_ms: int = Field(sa_type=BigInteger)
    cursor_id: bytes = Field(sa_type=LargeBinary)
    is_stale: bool
    has_garbage: bool  # documents of generations that no login reads
    accepted: int = Field(sa_type=BigInteger)  # logins of the past, each once
    learnt: int = Field(sa_type=BigInteger)  # of them, by the draft
    began_with: int = Field(sa_type=BigInteger)  # how many had been accepted when the draft began
    loaded_at: datetime | None  # when the last login of the past came; None without a load
    is_ending: bool  # the load has ended, and its rows are being deleted


@short_repr
class LoginLearningRecord(NamedTuple):
    """A row of `risk_login_learning`."""

    tenant_id: UUID
    newest_at: datetime
    pruned_until: datetime
    base: int = 0
    published: int = 0
    draft: int = 0
    cursor_ms: int = 0
    cursor_id: bytes = b""
    is_stale: bool = False
    has_garbage: bool = False
    accepted: int = 0
    learnt: int = 0
    began_with: int = 0
    loaded_at: datetime | None = None
    is_ending: bool = False

    @property
    def is_loading(self) -> bool:
        """Whether a past is being loaded: rows are kept, so that the draft can begin again."""
        return self.loaded_at is not None and not self.is_ending

    @property
    def writes_drafts(self) -> bool:
        """Whether the learner writes other documents than those that logins read."""
        return self.draft != self.published


class KeptLogin(SQLModel, table=True):
    """A login that the draft of `risk_login_learning` may have to learn again; kept until the load has ended.

    `order_ms` and `id` are its place: a login of the past has the time when it happened, and the digest of its trace,
    so that each counts once; another one the time when it arrived, and a UUID. `trace` names no user and no address.
    """

    __tablename__ = "risk_login_backfill"
    __table_args__ = {"sqlite_with_rowid": False}  # SQLAlchemy's

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    order_ms: int = Field(primary_key=True, sa_type=BigInteger)
    id: bytes = Field(primary_key=True, sa_type=LargeBinary)
    is_past: bool
    trace: bytes = Field(sa_type=LargeBinary)


@short_repr
class KeptLoginRecord(NamedTuple):
    """A row of `risk_login_backfill`."""

    tenant_id: UUID
    order_ms: int
    id: bytes
    is_past: bool
    trace: bytes
