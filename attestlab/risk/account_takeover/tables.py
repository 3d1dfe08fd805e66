"""Tables of what is known about the values of logins, and of a past that is being loaded."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class LoginDocumentRecord(NamedTuple):
    """What is known about one user, address, device or other value of a tenant's logins.

    `digest` is that of the kind and the value, so the table names no user and no address. `document` is JSON of at most
    four kilobytes; for a login after `expires_at` it is as if it were missing. Of a value there may be one document
    in each generation of `risk_login_learning`.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    generation: Annotated[int, Field(primary_key=True)]
    digest: Annotated[bytes, Field(primary_key=True)]
    kind: Annotated[str, Field(max_length=16)]
    document: Annotated[str, Field(max_length=4096)]
    expires_at: datetime


LoginDocument = model_of(
    LoginDocumentRecord,
    "risk_login_documents",
    Index("ix_risk_login_documents_by_end", "tenant_id", "expires_at"),
    sqlite_with_rowid=False,
)


@short_repr
class LoginLearningRecord(NamedTuple):
    """What a tenant's documents have learnt, and how far a past that is being loaded is learnt.

    Documents of the generation `published` are read before those of `base`, which do not change while a past is
    loaded. The learner writes those of `draft`: the published ones, or others that are published once they are whole.
    `cursor_ms` and `cursor_id` are the last row that the draft has learnt, in the order of rows. `is_stale` says that
    a row has come that belongs before the cursor, so the draft must begin again.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    newest_at: datetime  # of the logins that were learnt, at most an hour behind
    pruned_until: datetime  # documents that had expired by then are deleted
    base: int = 0
    published: int = 0
    draft: int = 0
    cursor_ms: Annotated[int, Field(sa_type=BigInteger)] = 0
    cursor_id: bytes = b""
    is_stale: bool = False
    has_garbage: bool = False  # documents of generations that no login reads
    accepted: Annotated[int, Field(sa_type=BigInteger)] = 0  # logins of the past, each once
    learnt: Annotated[int, Field(sa_type=BigInteger)] = 0  # of them, by the draft
    began_with: Annotated[int, Field(sa_type=BigInteger)] = 0  # how many had been accepted when the draft began
    loaded_at: datetime | None = None  # when the last login of the past came; None without a load
    is_ending: bool = False  # the load has ended, and its rows are being deleted

    @property
    def is_loading(self) -> bool:
        """Whether a past is being loaded: rows are kept, so that the draft can begin again."""
        return self.loaded_at is not None and not self.is_ending

    @property
    def writes_drafts(self) -> bool:
        """Whether the learner writes other documents than those that logins read."""
        return self.draft != self.published


LoginLearning = model_of(LoginLearningRecord, "risk_login_learning")


@short_repr
class KeptLoginRecord(NamedTuple):
    """A login that the draft of `risk_login_learning` may have to learn again; kept until the load has ended.

    `order_ms` and `id` are its place: a login of the past has the time when it happened, and the digest of its trace,
    so that each counts once; another one the time when it arrived, and a UUID. `trace` names no user and no address.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    order_ms: Annotated[int, Field(primary_key=True, sa_type=BigInteger)]
    id: Annotated[bytes, Field(primary_key=True)]
    is_past: bool
    trace: bytes


KeptLogin = model_of(KeptLoginRecord, "risk_login_backfill", sqlite_with_rowid=False)
