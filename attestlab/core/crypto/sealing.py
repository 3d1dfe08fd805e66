"""Sealing within a transaction: only under the key-encryption key that the records name.

The records hold the id of the key-encryption key (KEK) they are sealed under.
`attestlab keyring rewrap` changes it in the transaction that seals everything again. A
process that still holds the replaced key finds the other id under the writer's lock and
seals nothing, because the secret would be lost with the replaced key.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, LargeBinary, insert, select, update
from sqlmodel import Field, SQLModel

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import KeyringMismatch

ROW_ID = 1
MEMO = "keyring.kek_id"


class SealedUnder(SQLModel, table=True):
    """The one row that names the key-encryption key of everything sealed in the records."""

    __tablename__ = "sealed_under"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    kek_id: bytes = Field(sa_type=LargeBinary)


sealed_under = table_of(SealedUnder)
_KEK_ID: Any = select(sealed_under.c.kek_id).where(sealed_under.c.id == ROW_ID)


def found(tx: Transaction, keyring: Keyring) -> None:
    """Let fresh records name `keyring` as the one they are sealed under."""
    tx.exec(insert(sealed_under).values(id=ROW_ID, kek_id=keyring.id))
    tx.cache.pop(MEMO, None)


def move(tx: Transaction, new: Keyring) -> None:
    """Let the records name another keyring; the caller seals everything again in the same transaction."""
    tx.exec(update(sealed_under).where(sealed_under.c.id == ROW_ID).values(kek_id=new.id))
    tx.cache.pop(MEMO, None)


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
    """`Keyring.seal`, for a row that this transaction writes.

    Raises:
        KeyringMismatch: the records are sealed under another key-encryption key.
    """
    _require_current(tx, keyring)
    return keyring.seal(private_der, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)


def seal_secret(tx: Transaction, keyring: Keyring, secret: bytes, *, purpose: str) -> bytes:
    """`Keyring.seal_secret`, for a row that this transaction writes; raises like `seal`."""
    _require_current(tx, keyring)
    return keyring.seal_secret(secret, purpose=purpose)


def require_same(connection: Connection, keyring: Keyring) -> None:
    """Require that the records are sealed under `keyring`.

    Raises:
        KeyringMismatch: they name another key-encryption key, or none.
    """
    _compare(connection.execute(_KEK_ID).scalar(), keyring)


def surplus_rows(connection: Connection) -> list[int]:
    """The ids of rows that the service never writes."""
    return list(connection.execute(select(sealed_under.c.id).where(sealed_under.c.id != ROW_ID)).scalars())


def _require_current(tx: Transaction, keyring: Keyring) -> None:
    """Read the id once a transaction: under the writer's lock only this transaction changes it."""
    if MEMO not in tx.cache:
        tx.cache[MEMO] = tx.read_unflushed(_KEK_ID).scalar()
    _compare(tx.cache[MEMO], keyring)


def _compare(kek_id: bytes | None, keyring: Keyring) -> None:
    if kek_id != keyring.id:
        named = "none" if kek_id is None else bytes(kek_id).hex()
        raise KeyringMismatch(
            f"The records are sealed under the key-encryption key {named}, this process holds {keyring.id.hex()}; "
            "nothing was changed. Give it the new key and start it again."
        )
