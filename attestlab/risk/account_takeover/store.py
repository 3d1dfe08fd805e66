"""A tenant's documents about logins, within one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy import delete, select, tuple_

from attestlab.core.db.tables import iterate, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.risk.account_takeover.tables import LoginDocument, LoginDocumentRecord
from attestlab.risk.logins.state.documents import Document, Key, document_from_json, expires_at

documents = table_of(LoginDocument)
DIGEST_BYTES = 16
_SAVE = Upsert(
    documents,
    key=("tenant_id", "digest"),
    change=lambda new: {"document": new.document, "expires_at": new.expires_at},
)


class StoredDocuments:
    """The documents of a tenant, read and written in the transaction of a login."""

    def __init__(self, tx: Transaction, tenant_id: UUID) -> None:
        self._tx, self._tenant_id = tx, tenant_id

    def load(self, keys: tuple[Key, ...]) -> Mapping[Key, Document]:
        """Return the documents of those keys that have one."""
        by_digest = {_digest(key): key for key in keys}
        query = select(*documents.c).where(
            documents.c.tenant_id == self._tenant_id, documents.c.digest.in_(list(by_digest))
        )
        rows = iterate(self._tx.exec(query), LoginDocumentRecord)
        return {by_digest[row.digest]: document_from_json(row.kind, orjson.loads(row.document)) for row in rows}

    def save(self, changed: Mapping[Key, Document]) -> None:
        """Replace these documents."""
        rows = [self._record(key, document)._asdict() for key, document in changed.items()]
        if rows:
            self._tx.flush()
            _SAVE.run(self._tx.connection, rows)

    def _record(self, key: Key, document: Document) -> LoginDocumentRecord:
        text = orjson.dumps(document.to_json()).decode()
        return LoginDocumentRecord(self._tenant_id, _digest(key), key.kind, text, expires_at(document))


def delete_expired(tx: Transaction, *, now: datetime, limit: int) -> int:
    """Delete at most `limit` documents that no score depends on any more; returns their number."""
    key = (documents.c.tenant_id, documents.c.digest)
    due = select(*key).where(documents.c.expires_at < now).limit(limit)
    return tx.exec(delete(documents).where(tuple_(*key).in_(due))).rowcount


def _digest(key: Key) -> bytes:
    return hashlib.blake2b(f"{key.kind}\n{key.value}".encode(errors="replace"), digest_size=DIGEST_BYTES).digest()
