"""Sealing within a transaction, only under the key-encryption key that the records name.

The records hold the id of the key-encryption key (KEK) that they are sealed under.
`attestlab keyring rewrap` changes this id in the transaction that reseals every secret. A
process that still holds the replaced key reads the new id under the writer's lock and
seals nothing, because the secret would be lost with the replaced key.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, insert, select, update
from sqlmodel import Field

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.tables import model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import KeyringMismatch

ROW_ID = 1
CACHE_KEY = "keyring.kek_id"


@short_repr
class SealedUnderRecord(NamedTuple):
    """The one row that names the key-encryption key of everything sealed in the records."""

    id: Annotated[int, Field(primary_key=True, sa_column_kwargs={"autoincrement": False})]
    kek_id: bytes


SealedUnder = model_of(SealedUnderRecord, "sealed_under")
sealed_under = table_of(SealedUnder)
_KEK_ID = select(sealed_under.c.kek_id).where(sealed_under.c.id == ROW_ID)


def record_kek(tx: Transaction, keyring: Keyring) -> None:
    """Store in new records the id of the key-encryption key that they are sealed under."""
    tx.exec(insert(sealed_under).values(id=ROW_ID, kek_id=keyring.id))
    tx.cache.pop(CACHE_KEY, None)


def replace_kek(tx: Transaction, new: Keyring) -> None:
    """Store the id of another key-encryption key; the caller reseals every secret in the same transaction."""
    tx.exec(update(sealed_under).where(sealed_under.c.id == ROW_ID).values(kek_id=new.id))
    tx.cache.pop(CACHE_KEY, None)


def seal(
    tx: Transaction,
    keyring: Keyring,
    private_der: bytes,
    *,
    tenant_id: UUID | None,
    issuer_id: UUID | None,
    kid: str,
    alg: str,
) -> bytes:
    """Seal a private key for a row that this transaction writes; see `Keyring.seal`.

    Raises:
        KeyringMismatch: the records are sealed under another key-encryption key.
    """
    _require_current(tx, keyring)
    return keyring.seal(private_der, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)


def seal_secret(tx: Transaction, keyring: Keyring, secret: bytes, *, purpose: str) -> bytes:
    """Seal a secret for a row that this transaction writes; raises like `seal`."""
    _require_current(tx, keyring)
    return keyring.seal_secret(secret, purpose=purpose)


def require_same(connection: Connection, keyring: Keyring) -> None:
    """Require that the records are sealed under `keyring`.

    Raises:
        KeyringMismatch: they name another key-encryption key, or none.
    """
    _compare(connection.execute(_KEK_ID).scalar(), keyring)


def find_surplus_rows(connection: Connection) -> list[int]:
    """Return the ids of rows that the service never writes."""
    return list(connection.execute(select(sealed_under.c.id).where(sealed_under.c.id != ROW_ID)).scalars())


def _require_current(tx: Transaction, keyring: Keyring) -> None:
    """Compare the id, read once a transaction: under the writer's lock only this transaction can change it."""
    if CACHE_KEY not in tx.cache:
        tx.cache[CACHE_KEY] = tx.read_unflushed(_KEK_ID).scalar()
    _compare(tx.cache[CACHE_KEY], keyring)


def _compare(kek_id: bytes | None, keyring: Keyring) -> None:
    if kek_id != keyring.id:
        named = "none" if kek_id is None else bytes(kek_id).hex()
        raise KeyringMismatch(
            f"The records are sealed under the key-encryption key {named}, this process holds {keyring.id.hex()}. "
            "Nothing was changed. Provide the new key and restart the process."
        )
