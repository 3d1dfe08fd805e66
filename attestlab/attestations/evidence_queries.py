"""Queries of signed records with all that their verification needs: issuer, key, log entry, and plan of the tenant.

Attestations and receipts have tables of their own with the same columns for it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, select

from attestlab.core.db.tables import table_of
from attestlab.issuers.tables import Issuer, IssuerKey
from attestlab.log.tables import LogLeaf
from attestlab.orgs.tables import Tenant

Record = TypeVar("Record", bound=NamedTuple)

issuers = table_of(Issuer)
keys = table_of(IssuerKey)
leaves = table_of(LogLeaf)
_tenants = table_of(Tenant)
_PLAN = (_tenants.c.plan, _tenants.c.adjusted, _tenants.c.addons)


class CurrentIssuer(NamedTuple):
    """The issuer of a record as it is now, in contrast to the snapshot at the mint."""

    id: UUID
    name: str
    domain: str
    status: str
    trust_tier: str
    risk_rating: str
    jurisdiction: str | None
    display_name: str | None
    primary_color: str | None
    accent_color: str | None
    logo_url: str | None
    revoked_index: int | None

    @property
    def shown_name(self) -> str:
        """The name for people: the display name, or that of the registration if there is none."""
        return self.display_name or self.name


class CurrentKey(NamedTuple):
    """The public key of a record, and its status now."""

    spki: bytes
    status: str
    created_at: datetime
    changed_index: int | None
    compromised_at: datetime | None


class SignedRow(Protocol):
    """The columns that the rows of all signed records have."""

    @property
    def id(self) -> UUID: ...
    @property
    def tenant_id(self) -> UUID: ...
    @property
    def issuer_id(self) -> UUID: ...
    @property
    def kid(self) -> str: ...
    @property
    def alg(self) -> str: ...
    @property
    def document_hash(self) -> str | None: ...
    @property
    def payload_hash(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def signature(self) -> str: ...
    @property
    def custody(self) -> str: ...
    @property
    def log_index(self) -> int: ...
    @property
    def nonce(self) -> bytes: ...
    @property
    def changed_index(self) -> int | None: ...
    @property
    def snapshot_status(self) -> str: ...
    @property
    def snapshot_trust_tier(self) -> str: ...
    @property
    def snapshot_risk_rating(self) -> str: ...
    @property
    def snapshot_jurisdiction(self) -> str | None: ...


class RecordEvidence(Protocol):
    """A signed record with its issuer, key, log entry, and the plan of its tenant; None is a missing row."""

    @property
    def row(self) -> SignedRow: ...
    @property
    def issuer(self) -> CurrentIssuer | None: ...
    @property
    def key(self) -> CurrentKey | None: ...
    @property
    def entry(self) -> bytes | None: ...
    @property
    def plan(self) -> str | None: ...
    @property
    def adjustments(self) -> str | None: ...
    @property
    def addons(self) -> str | None: ...


class EvidenceParts(NamedTuple, Generic[Record]):
    """A row of a table with the parts of its evidence."""

    row: Record
    issuer: CurrentIssuer | None
    key: CurrentKey | None
    entry: bytes | None
    plan: str | None
    adjustments: str | None
    addons: str | None


def is_key_of(table: Table) -> ColumnElement[bool]:
    """Build the condition that joins the keys of issuers to a table of signed records."""
    return and_(keys.c.tenant_id == table.c.tenant_id, keys.c.kid == table.c.kid, keys.c.issuer_id == table.c.issuer_id)


class EvidenceQuery(Generic[Record]):
    """Finds one row of a table by its id, of any tenant, with the parts of its evidence, in one query."""

    def __init__(self, table: Table, record: type[Record]) -> None:
        columns = tuple(table.c)
        of_issuer = [issuers.c[name] for name in CurrentIssuer._fields]
        of_key = [keys.c[name] for name in CurrentKey._fields]
        self._record = record
        # Where the columns of each table are in a row of the query.
        self._row_part = slice(0, len(columns))
        self._issuer_part = slice(self._row_part.stop, self._row_part.stop + len(of_issuer))
        self._key_part = slice(self._issuer_part.stop, self._issuer_part.stop + len(of_key))
        self._query = (
            select(*columns, *of_issuer, *of_key, leaves.c.entry, *_PLAN)
            .select_from(
                table.outerjoin(issuers, issuers.c.id == table.c.issuer_id)
                .outerjoin(keys, is_key_of(table))
                .outerjoin(leaves, leaves.c.index == table.c.log_index)
                .outerjoin(_tenants, _tenants.c.id == table.c.tenant_id)
            )
            .where(table.c.id == bindparam("id"))
        )

    def find(self, connection: Connection, record_id: UUID) -> EvidenceParts[Record] | None:
        """Find the row with this id, and the parts of its evidence; None if there is none."""
        row = connection.execute(self._query, {"id": record_id}).first()
        if row is None:
            return None
        issuer, key = row[self._issuer_part], row[self._key_part]
        return EvidenceParts(
            self._record._make(row[self._row_part]),
            None if issuer[0] is None else CurrentIssuer._make(issuer),
            None if key[0] is None else CurrentKey._make(key),
            *row[self._key_part.stop :],
        )
