"""Changes of receipts: a revocation, which the log has as an entry, and a redaction, which changes no proof."""

from __future__ import annotations

from datetime import datetime

from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, EntryType
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller
from attestlab.receipts import rules, store
from attestlab.receipts.events import ReceiptRevoked
from attestlab.receipts.tables import ReceiptRecord

REDACTED = "receipt.redact"  # the action in the audit trail, by which the lake finds redactions
RETENTION = SystemActor("retention")  # redacts receipts whose payloads are kept no longer


def revoke(
    tx: Transaction, log: Log, row: ReceiptRecord, reason: str | None, *, caller: Caller, at: datetime
) -> ReceiptRecord:
    """Revoke a receipt, whose row was read under the writer's lock: log entry, row, audit line and event.

    Raises:
        Conflict: the receipt is revoked already.
    """
    rules.require_active(ReceiptStatus(row.status))
    entry = entries.receipt_status_entry(
        FIRST_LINK,
        receipt_id=row.id,
        issuer_id=row.issuer_id,
        minted_index=row.log_index,
        status=ReceiptStatus.REVOKED.value,
        at=at,
        reason=None if reason is None else entries.reason_commitment(row.nonce, reason),
    )
    logged = log.append(tx, entry, kind=EntryType.RECEIPT_STATUS, subject=entries.receipt_subject(row.id))
    changed = {
        "status": ReceiptStatus.REVOKED.value,
        "revoked_at": at,
        "revocation_reason": reason,
        "changed_index": logged.index,
        "changed_at": at,
    }
    deed = AuditContext(row.tenant_id, caller, "receipt.revoke", at, {"log_index": logged.index})
    revoked = audited_write.change(tx, store.receipts, row, changed, deed)
    outbox.publish(tx, row.tenant_id, ReceiptRevoked(row.id, row.issuer_id, logged.index, at), at=at)
    return revoked


def redact(tx: Transaction, row: ReceiptRecord, reason: str | None, *, actor: Actor, at: datetime) -> ReceiptRecord:
    """Delete what a receipt discloses; its hashes, its signature and its log entry stay, so its proofs verify."""
    gone = {"payload": None, "subject": None, "subject_nonce": None, "extra": None, "redacted_at": at}
    metadata = {} if reason is None else {"reason": reason}
    deed = AuditContext(row.tenant_id, actor, REDACTED, at, metadata)
    return audited_write.change(tx, store.receipts, row, gone, deed)
