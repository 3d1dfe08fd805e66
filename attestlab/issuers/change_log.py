"""Change log of issuers and keys: every change writes a log entry, an event and an audit line.

The transaction of the change writes all three, so that none of them can be missing. Status
entries of one subject form a chain (CONTRACT section 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Table

from attestlab.core.db.transaction import Transaction
from attestlab.core.events import Event
from attestlab.core.records import audit, outbox
from attestlab.core.records.actors import Actor
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, row_sha256
from attestlab.issuers.tables import IssuerKeyRecord, IssuerRecord
from attestlab.log import entries
from attestlab.log.entries import EntryType
from attestlab.log.service import Log


@dataclass(frozen=True)
class RowChange:
    """A change of an issuer's or key's row: actor, action, resource and time; `row` is the new row."""

    tenant_id: UUID
    actor: Actor
    action: str
    resource_type: str
    resource_id: str
    table: Table
    row: NamedTuple
    at: datetime


@dataclass(frozen=True)
class ChangeRecorder:
    """Writes log entries, events and audit lines of changes."""

    log: Log

    def log_issuer_status(self, tx: Transaction, issuer: IssuerRecord, at: datetime) -> int:
        """Append an issuer's new status, ratings, name and domain to the log, and return the entry's index."""
        subject = entries.issuer_subject(issuer.id)
        entry = entries.issuer_status_entry(
            self.log.next_status_link(tx, subject),
            issuer_id=issuer.id,
            status=issuer.status,
            trust_tier=issuer.trust_tier,
            risk_rating=issuer.risk_rating,
            jurisdiction=issuer.jurisdiction,
            profile=entries.profile_name(issuer.name, issuer.domain),
            at=at,
        )
        return self.log.append(tx, entry, kind=EntryType.ISSUER_STATUS, subject=subject).index

    def log_key_status(self, tx: Transaction, key: IssuerKeyRecord, at: datetime, *, reason: str | None = None) -> int:
        """Append a key's new status and the reason, both public, to the log, and return the entry's index."""
        subject = entries.key_subject(key.issuer_id, key.kid)
        entry = entries.key_status_entry(
            self.log.next_status_link(tx, subject),
            issuer_id=key.issuer_id,
            kid=key.kid,
            alg=key.alg,
            public_spki=key.spki,
            status=key.status,
            at=at,
            reason=reason,
            compromised_at=key.compromised_at,
        )
        return self.log.append(tx, entry, kind=EntryType.KEY_STATUS, subject=subject).index

    def publish_and_audit(self, tx: Transaction, event: Event, change: RowChange) -> None:
        """Publish the event, and write an audit line with the row's digest."""
        outbox.publish(tx, change.tenant_id, event, at=change.at)
        self.audit(tx, change)

    def audit(self, tx: Transaction, change: RowChange) -> None:
        """Write an audit line with the row's digest, for a change that another event already reports."""
        entry = AuditEntry(
            tenant_id=change.tenant_id,
            actor=change.actor,
            action=change.action,
            resource_type=change.resource_type,
            resource_id=change.resource_id,
            at=change.at,
            metadata={METADATA_KEY: row_sha256(change.table, change.row._asdict())},
        )
        audit.record(tx, entry)
