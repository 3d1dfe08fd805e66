"""Steps of a mint in its transaction that attestations and receipts share: authority, free id, quota, log entry."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.attestations import policy_enforcement
from attestlab.attestations.signing import PreparedMint
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.transaction import Buffer, Foreseen, Transaction
from attestlab.core.errors import Conflict
from attestlab.core.records import audit, outbox
from attestlab.issuers.rules import Custody, require_may_mint
from attestlab.issuers.service import SIGNING_KEYS, Issuers
from attestlab.issuers.store import KeyPlace, SigningKey
from attestlab.log import service as log_service
from attestlab.log.results import SequencedEntry
from attestlab.log.service import Log
from attestlab.orgs import quotas

TakenIds = ForeseenRead[UUID, bool]
_CHOSEN_IDS = Buffer[UUID]("chosen ids of records")


def foresee(foreseen: Foreseen, prepared: PreparedMint, *, at: datetime, taken_ids: TakenIds) -> None:
    """Name what the mint and its commit will read: key, policies, usage, chosen id, and the ends of log and chains."""
    key = prepared.key
    log_service.foresee_append(foreseen)
    audit.foresee(foreseen, key.tenant_id)
    outbox.foresee(foreseen, key.tenant_id)
    SIGNING_KEYS.foresee(foreseen, KeyPlace(key.tenant_id, key.issuer_id, key.kid))
    policy_enforcement.foresee_policies(foreseen, prepared)
    quotas.foresee_attestation(foreseen, prepared.caller, at=at)
    if key.custody is Custody.EXTERNAL:
        taken_ids.foresee(foreseen, prepared.statement.id)


def require_unchanged(tx: Transaction, key: SigningKey, *, issuers: Issuers) -> None:
    """Require under the writer's lock that issuer and key are as they were when the statement was signed.

    Raises:
        Conflict: one of them changed.
        PermissionDenied: the issuer is not ACTIVE any more.
    """
    now = issuers.get_signing_key_for_update(tx, tenant_id=key.tenant_id, issuer_id=key.issuer_id, kid=key.kid)
    if now != key:
        require_may_mint(now.issuer_status, now.status)
        raise Conflict("The issuer or key changed during the mint. Send the request again.")


def append(tx: Transaction, prepared: PreparedMint, *, log: Log, taken_ids: TakenIds, at: datetime) -> SequencedEntry:
    """Count a mint towards the tenant's quota, and append its entry to the log.

    Raises:
        Conflict: another record has the id.
        RateLimited: the tenant has used its plan's daily quota.
    """
    statement = prepared.statement
    if prepared.key.custody is Custody.EXTERNAL:
        _require_free_id(tx, statement.id, statement.kind.noun, taken_ids)
    quotas.count_attestation(tx, prepared.caller, at=at)
    return log.append(tx, prepared.entry, kind=statement.kind.minted_entry)


def _require_free_id(tx: Transaction, record_id: UUID, noun: str, taken_ids: TakenIds) -> None:
    """Reject an id that is taken; only holders of external keys choose ids, generated ones are unique."""
    chosen_ids = tx.buffer(_CHOSEN_IDS)  # a buffer, so that a job that is rolled back frees its id
    if record_id in chosen_ids or taken_ids.get(tx, record_id):
        article = "An" if noun[0] in "aeiou" else "A"
        message = f"{article} {noun} with the id {record_id} already exists. Sign and send another id."
        raise Conflict(message, details={"id": str(record_id)})
    chosen_ids.append(record_id)
