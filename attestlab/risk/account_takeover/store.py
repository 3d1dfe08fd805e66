"""A tenant's documents about logins, how far they have learnt, and the rows of a past that is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import BigInteger, ColumnElement, Index, and_, bindparam, delete, exists, or_, select, tuple_, update
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, iterate, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.risk.logins.circumstances import digest_key
from attestlab.risk.logins.documents import DetectorDocument, DocumentKey, document_from_json, expires_at


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


documents = table_of(LoginDocument)
learning = table_of(LoginLearning)
kept = table_of(KeptLogin)
MAX_DIGESTS_PER_QUERY = 5_000  # SQLite takes some 32,000 values
_KEY = (documents.c.tenant_id, documents.c.generation, documents.c.digest)
_PLACE = (kept.c.order_ms, kept.c.id)
_LOAD = select(documents.c.generation, documents.c.digest, documents.c.kind, documents.c.document).where(
    documents.c.tenant_id == bindparam("tenant"),
    documents.c.generation.in_(bindparam("generations", expanding=True)),
    documents.c.digest.in_(bindparam("digests", expanding=True)),
)
_LEARNING = select(*learning.c).where(learning.c.tenant_id == bindparam("tenant"))
_SAVE = Upsert(
    documents,
    key=("tenant_id", "generation", "digest"),
    change=lambda new: {"document": new.document, "expires_at": new.expires_at},
)
_SAVE_LEARNING = Upsert(
    learning,
    key=("tenant_id",),
    change=lambda new: {name: new[name] for name in LoginLearningRecord._fields if name != "tenant_id"},
)


class _StoredDocument(NamedTuple):
    generation: int
    digest: bytes
    kind: str
    document: str


class StoredDocuments:
    """The documents of a tenant, read and written in one transaction: those of a generation, else those of `base`."""

    def __init__(
        self,
        tx: Transaction,
        tenant_id: UUID,
        *,
        generation: int = 0,
        base: int = 0,
        find_digest: Callable[[DocumentKey], bytes] = digest_key,
    ) -> None:
        self._tx, self._tenant_id = tx, tenant_id
        self._generation, self._base = generation, base
        self._find_digest = find_digest

    def load(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, DetectorDocument]:
        """Return the documents of those keys that have one."""
        by_digest = {self._find_digest(key): key for key in keys}
        digests, newest = [*by_digest], {}
        for start in range(0, len(digests), MAX_DIGESTS_PER_QUERY):
            for row in self._read(digests[start : start + MAX_DIGESTS_PER_QUERY]):
                if row.digest not in newest or row.generation == self._generation:
                    newest[row.digest] = row
        return {by_digest[row.digest]: _read_document(row) for row in newest.values()}

    def save(self, changed: Mapping[DocumentKey, DetectorDocument]) -> None:
        """Replace these documents in the generation."""
        rows = [self._record(*each)._asdict() for each in changed.items()]
        if rows:
            self._tx.flush()
            _SAVE.run_many(self._tx.connection, rows)

    def _read(self, digests: Sequence[bytes]) -> Iterable[_StoredDocument]:
        values = {"tenant": self._tenant_id, "generations": [self._generation, self._base], "digests": digests}
        return iterate(self._tx.exec(_LOAD, values), _StoredDocument)

    def _record(self, key: DocumentKey, document: DetectorDocument) -> LoginDocumentRecord:
        text, digest = orjson.dumps(document.to_json()).decode(), self._find_digest(key)
        return LoginDocumentRecord(self._tenant_id, self._generation, digest, key.kind, text, expires_at(document))


def _read_document(row: _StoredDocument) -> DetectorDocument:
    return document_from_json(row.kind, orjson.loads(row.document))


def find_learning(execute: Execute, tenant_id: UUID) -> LoginLearningRecord | None:
    """Find what a tenant's documents have learnt; None before its first login."""
    return fetch_one(execute(_LEARNING, {"tenant": tenant_id}), LoginLearningRecord)


def save_learning(tx: Transaction, changed: LoginLearningRecord) -> None:
    """Store what a tenant's documents have learnt."""
    tx.flush()
    _SAVE_LEARNING.run(tx.connection, changed._asdict())


def list_unlearnt(execute: Execute) -> list[LoginLearningRecord]:
    """List the tenants whose drafts have not learnt every login of the past, or are not published yet."""
    columns = learning.c
    is_behind = or_(columns.learnt < columns.accepted, columns.is_stale, columns.draft != columns.published)
    return fetch_all(execute(select(*columns).where(is_behind).order_by(columns.loaded_at)), LoginLearningRecord)


def list_loaded(execute: Execute, *, before: datetime) -> list[LoginLearningRecord]:
    """List the tenants whose last login of the past came before a moment; it is all learnt, without garbage."""
    columns = learning.c
    is_learnt = (columns.learnt == columns.accepted, columns.is_stale.is_(False), columns.draft == columns.published)
    is_clean = columns.has_garbage.is_(False)
    query = select(*columns).where(columns.loaded_at < before, *is_learnt, is_clean)
    return fetch_all(execute(query), LoginLearningRecord)


def list_with_garbage(execute: Execute) -> list[LoginLearningRecord]:
    """List the tenants that have documents of generations that no login reads."""
    return fetch_all(execute(select(*learning.c).where(learning.c.has_garbage.is_(True))), LoginLearningRecord)


def list_unpruned(execute: Execute) -> list[LoginLearningRecord]:
    """List the tenants with logins since their expired documents were deleted, but none that loads a past."""
    due = and_(learning.c.loaded_at.is_(None), learning.c.pruned_until < learning.c.newest_at)
    return fetch_all(execute(select(*learning.c).where(due)), LoginLearningRecord)


def delete_expired(tx: Transaction, tenant_id: UUID, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` documents of a tenant that had expired before a moment; returns their number."""
    return _delete_some(tx, [documents.c.tenant_id == tenant_id, documents.c.expires_at < before], limit)


def delete_garbage(tx: Transaction, of: LoginLearningRecord, *, limit: int) -> int:
    """Delete at most `limit` documents of a tenant in generations that no login reads; returns their number."""
    deleted, generation = 0, documents.c.generation
    for low, high in ((of.base, of.published), (of.published, of.draft)):
        is_between = [documents.c.tenant_id == of.tenant_id, generation > low, generation < high]
        if low + 1 < high and deleted < limit:
            deleted += _delete_some(tx, is_between, limit - deleted)
    return deleted


def fold_base(tx: Transaction, of: LoginLearningRecord, *, limit: int) -> int:
    """Move at most `limit` documents of `base` into the published generation, unless it has a newer one.

    Returns their number.
    """
    chosen = select(documents.c.digest).where(documents.c.tenant_id == of.tenant_id, documents.c.generation == of.base)
    digests = tx.exec(chosen.order_by(documents.c.digest).limit(limit)).scalars().all()
    newer = documents.alias()
    is_old = and_(
        documents.c.tenant_id == of.tenant_id,
        documents.c.generation == of.base,
        documents.c.digest.in_(digests),
    )
    has_newer = exists().where(
        newer.c.tenant_id == documents.c.tenant_id,
        newer.c.generation == of.published,
        newer.c.digest == documents.c.digest,
    )
    tx.exec(delete(documents).where(is_old, has_newer))
    tx.exec(update(documents).where(is_old).values(generation=of.published))
    return len(digests)


def _delete_some(tx: Transaction, conditions: Sequence[ColumnElement[bool]], limit: int) -> int:
    due = select(*_KEY).where(*conditions).limit(limit)
    return tx.exec(delete(documents).where(tuple_(*_KEY).in_(due))).rowcount


def add_new_logins(tx: Transaction, tenant_id: UUID, rows: Sequence[KeptLoginRecord]) -> list[KeptLoginRecord]:
    """Keep the rows that are not kept yet, each once, and return them in their order."""
    by_place = {(row.order_ms, row.id): row for row in rows}
    times = list({row.order_ms for row in rows})
    query = select(*_PLACE).where(kept.c.tenant_id == tenant_id, kept.c.order_ms.in_(times))
    known = {(order_ms, bytes(id_)) for order_ms, id_ in tx.exec(query)}
    new = [by_place[place] for place in sorted(by_place.keys() - known)]
    for row in new:
        tx.add(kept, row)
    return new


def list_next_logins(tx: Transaction, of: LoginLearningRecord, *, limit: int) -> list[KeptLoginRecord]:
    """List the rows after a tenant's cursor, in their order."""
    is_next = tuple_(*_PLACE) > (of.cursor_ms, of.cursor_id)
    query = select(*_PLACE, kept.c.is_past, kept.c.trace).where(kept.c.tenant_id == of.tenant_id, is_next)
    return [KeptLoginRecord(of.tenant_id, *row) for row in tx.exec(query.order_by(*_PLACE).limit(limit))]


def delete_logins(tx: Transaction, tenant_id: UUID, *, limit: int) -> int:
    """Delete at most `limit` rows of a tenant; returns their number."""
    due = select(*_PLACE).where(kept.c.tenant_id == tenant_id).order_by(*_PLACE).limit(limit)
    condition = (kept.c.tenant_id == tenant_id, tuple_(*_PLACE).in_(due))
    return tx.exec(delete(kept).where(*condition)).rowcount
