"""Service for receipts: mint, get, list, search, verify, export, revoke and redact.

What a receipt shares with an attestation is the code of attestations: signing, the steps of a mint, the log proofs and
the steps of a verification.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import mint_steps
from attestlab.attestations import store as attestation_store
from attestlab.attestations.metering.daily_meter import verifications_per_day
from attestlab.attestations.policy_enforcement import PolicyDecisions
from attestlab.attestations.receipt_content import RECEIPT_STATUSES
from attestlab.attestations.results import NOT_FOUND, RecordVerification, VerifiedRecord
from attestlab.attestations.rules import RECEIPT
from attestlab.attestations.service import Attestations
from attestlab.attestations.verification.log_proofs import LogProofs, collect_proofs
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers import store as issuer_store
from attestlab.issuers.keys import SignedCounts
from attestlab.issuers.rules import KeyStatus, require_may_mint
from attestlab.issuers.store import SigningKey
from attestlab.log.results import SequencedEntry, SignedHead
from attestlab.orgs.rules import Caller
from attestlab.receipts import changes, minting, store
from attestlab.receipts.events import ReceiptCreated
from attestlab.receipts.minting import PreparedReceipt
from attestlab.receipts.shapes import ReceiptFilters, ReceiptIn, SearchReceiptsIn
from attestlab.receipts.store import ReceiptEvidence
from attestlab.receipts.tables import ReceiptRecord
from attestlab.receipts.types import rules as type_rules
from attestlab.receipts.types import store as type_store
from attestlab.receipts.types.rules import TypeReference, TypeStatus
from attestlab.receipts.types.tables import ReceiptTypeRecord

ROWS_A_PART = 500  # of an exported file; a payload may have 64 KB


@dataclass(frozen=True)
class VerifiedReceipt(VerifiedRecord[ReceiptEvidence]):
    """Result of a verification of a receipt."""

    @property
    def receipt_id(self) -> UUID:
        """The id of the receipt."""
        return self.record_id


@dataclass(frozen=True)
class ReceiptExport:
    """The parts of a receipt's proof bundle, and the policy decisions about its export."""

    evidence: ReceiptEvidence = field(repr=False)
    proofs: LogProofs = field(repr=False)
    head: SignedHead
    policy_decisions: PolicyDecisions


class Receipts:
    """Receipts of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, attestations: Attestations) -> None:
        self.attestations = attestations
        self.storage = attestations.storage
        self.clock = attestations.clock
        self.issuers = attestations.issuers
        self.log = attestations.log

    def mint(self, request: ReceiptIn, *, caller: Caller, tx: Transaction | None = None) -> ReceiptRecord:
        """Mint a receipt: `prepare`, then `issue`; raises the errors of both, and a denial of policies."""
        issued = self.issue(self.prepare(request, caller=caller, tx=tx), tx=tx)
        if isinstance(issued, PermissionDenied):
            raise issued
        return issued

    def prepare(
        self,
        request: ReceiptIn,
        *,
        caller: Caller,
        client_address: str | None = None,
        tx: Transaction | None = None,
    ) -> PreparedReceipt:
        """Validate and sign a receipt, before the log assigns an index.

        Raises:
            NotFound: the caller's tenant has no such issuer, key or type.
            PermissionDenied: the issuer is not ACTIVE.
            Conflict: the key is not active, or the type is deprecated.
            ValidationFailed: the request is invalid.
        """
        find_type = partial(_get_mintable_type, request=request, caller=caller)
        named = ("receipt type", caller.tenant_id, request.receipt_type, request.receipt_version)
        receipt_type = self.storage.cached_read(named, find_type, tx)
        place = ("signing_key", caller.tenant_id, request.issuer_id, request.kid, request.alg)
        key = self.storage.cached_read(place, partial(self._get_signing_key, request=request, caller=caller), tx)
        return minting.prepare(
            request,
            key,
            receipt_type,
            caller=caller,
            issuers=self.issuers,
            now=self.clock.now(),
            client_address=client_address,
        )

    def _get_signing_key(self, connection: Connection, *, request: ReceiptIn, caller: Caller) -> SigningKey:
        """Get the key that a request names, or the issuer's newest active one; issuer and key may mint now."""
        kid = request.kid or _find_active_kid(connection, request, caller)
        key = self.issuers.get_signing_key(connection, tenant_id=caller.tenant_id, issuer_id=request.issuer_id, kid=kid)
        require_may_mint(key.issuer_status, key.status)
        return key

    def issue(self, prepared: PreparedReceipt, *, tx: Transaction | None = None) -> ReceiptRecord | PermissionDenied:
        """Append a prepared receipt to the log, and write its row, event and audit line, in one transaction.

        A denial by policies is returned, not raised, so that the transaction commits its recorded decision.

        Raises:
            Conflict: issuer, key or type changed since `prepare`, or the id is taken.
            RateLimited: the tenant has used its plan's daily quota.
        """
        with self.storage.write(tx) as tx:
            mint_steps.require_unchanged(tx, prepared.key, issuers=self.issuers)
            _require_mintable(tx, prepared.receipt_type)
            at = self.clock.now()
            decision = self.attestations.enforcement.enforce_mint(tx, prepared, now=at)
            if isinstance(decision, PermissionDenied):
                return decision
            logged = mint_steps.append(tx, prepared, log=self.log, taken_ids=store.TAKEN_IDS, at=at)
            return _record(tx, prepared, logged, decision, at)

    def get(self, receipt_id: UUID, *, caller: Caller) -> ReceiptRecord:
        """Get a receipt of the caller's tenant.

        Raises:
            NotFound: the caller's tenant has no receipt with this id.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, receipt_id, tenant_id=caller.tenant_id)

    def page(
        self, query: ReceiptFilters, *, caller: Caller, before: int | None = None, offset: int = 0, limit: int = 50
    ) -> Sequence[ReceiptRecord]:
        """List receipts of the caller's tenant in descending order of log index, below `before`."""
        with self.storage.read() as connection:
            return store.page(
                connection.execute, query, tenant_id=caller.tenant_id, before=before, offset=offset, limit=limit
            )

    def iterate_pages(self, query: ReceiptFilters, *, caller: Caller) -> Iterator[Sequence[ReceiptRecord]]:
        """Yield all receipts that match, newest first; those that are minted after the first page are left out."""
        before = None
        while rows := self.page(query, caller=caller, before=before, limit=ROWS_A_PART):
            before = rows[-1].log_index
            yield rows
            if len(rows) < ROWS_A_PART:
                break

    def search(self, query: SearchReceiptsIn, *, caller: Caller) -> tuple[Sequence[ReceiptRecord], int]:
        """Find receipts of the caller's tenant, newest first, and count all that match."""
        with self.storage.read() as connection:
            return store.search(connection.execute, query, tenant_id=caller.tenant_id)

    def verify_metered(
        self, receipt_id: UUID, presented: VerifierInput, *, client_address: str | None = None
    ) -> VerifiedReceipt:
        """Verify a receipt in eight steps, and count it towards the daily limit of the issuer's plan.

        No tenant pays for an unknown id. `WriteBehind` writes the usage.

        Raises:
            BillingLimit: the issuer's tenant has used its plan's daily verifications.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            evidence = store.find_with_evidence(connection, receipt_id)
            if evidence is None:
                return VerifiedReceipt(receipt_id, None, NOT_FOUND, now)
            row = evidence.row
            content, status = minting.build_content(row), RECEIPT_STATUSES[row.status]
            record = RecordVerification(evidence, content, status, client_address, now)
            report, decisions = self.attestations.verify_record(connection, record, presented, profile=None)
            verified = VerifiedReceipt(receipt_id, evidence, report, now, decisions)
            limit = verifications_per_day(evidence)
            self.attestations.daily_meter.take(connection, verified.metered_verification, limit=limit)
        return verified

    def export(self, receipt_id: UUID, *, caller: Caller, client_address: str | None = None) -> ReceiptExport:
        """Load the parts of a bundle, and the policy decisions about its export, which the caller must record.

        Raises:
            NotFound: the caller's tenant has no receipt with this id.
        """
        attestations = self.attestations
        with self.storage.read() as connection:
            store.get(connection.execute, receipt_id, tenant_id=caller.tenant_id)
            evidence = store.find_with_evidence(connection, receipt_id)
            if evidence is None:
                raise NotFound("receipt", receipt_id)
            proofs, head = collect_proofs(connection, self.log, attestations.status_lists, evidence, RECEIPT)
            decisions = attestations.enforcement.evaluate_export(
                connection, evidence, caller=caller, client_address=client_address, now=self.clock.now()
            )
            return ReceiptExport(evidence, proofs, head, decisions)

    def revoke(
        self, receipt_id: UUID, *, reason: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> ReceiptRecord:
        """Revoke a receipt permanently; the log gets an entry with a commitment to the reason.

        Raises:
            NotFound: the caller's tenant has no receipt with this id.
            Conflict: the receipt is revoked already.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, receipt_id, tenant_id=caller.tenant_id)
            return changes.revoke(tx, self.log, row, reason, caller=caller, at=self.clock.now())

    def redact(
        self, receipt_id: UUID, *, reason: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> ReceiptRecord:
        """Delete payload, subject and metadata of a receipt, whose proofs still verify; a repeat changes nothing.

        Raises:
            NotFound: the caller's tenant has no receipt with this id.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, receipt_id, tenant_id=caller.tenant_id)
            if row.redacted_at is not None:
                return row
            return changes.redact(tx, row, reason, actor=caller, at=self.clock.now())

    def redact_outdated(self, tx: Transaction, *, at_most: int) -> bool:
        """Redact at most `at_most` receipts whose payloads are kept no longer; returns whether there may be more.

        Raises:
            TimeUnconfirmed: the clock leapt, and a redaction cannot be undone.
        """
        self.log.time.require_credible(tx.connection)
        at = self.clock.now()
        outdated = store.find_outdated(tx, now=at, limit=at_most)
        for row in outdated:
            changes.redact(tx, row, None, actor=changes.RETENTION, at=at)
        return len(outdated) == at_most


def count_signed(tx: Transaction, tenant_id: UUID, kid: str) -> SignedCounts:
    """Count the attestations and receipts that a tenant's key has signed."""
    return SignedCounts(*(each.count_signed(tx, tenant_id, kid) for each in (attestation_store, store)))


def foresee_mint(foreseen: Foreseen, prepared: PreparedReceipt, *, at: datetime) -> None:
    """Name what the mint of a receipt will read in its transaction."""
    mint_steps.foresee(foreseen, prepared, at=at, taken_ids=store.TAKEN_IDS)
    store.TYPE_STATUSES.foresee(foreseen, prepared.receipt_type.id)


def _get_mintable_type(connection: Connection, *, request: ReceiptIn, caller: Caller) -> ReceiptTypeRecord:
    """Get the version of a type that a request names, or the newest active one.

    Raises:
        NotFound: the tenant has no such type or version.
        Conflict: it is deprecated.
    """
    name, version = request.receipt_type, request.receipt_version
    found = type_store.find_receipt_type(connection.execute, caller.tenant_id, name, version)
    if found is None:  # unknown, or deprecated in all versions
        found = type_store.get(connection.execute, caller.tenant_id, TypeReference(name, version))
    type_rules.require_mintable(TypeStatus(found.status), name=name, version=found.version)
    return found


def _require_mintable(tx: Transaction, receipt_type: ReceiptTypeRecord) -> None:
    """Require under the writer's lock that the type was not deprecated since the receipt was prepared."""
    if type_store.TYPES_CHANGED in tx.cache:
        found = store.find_type_status(tx.exec, receipt_type.id)
    else:
        found = store.TYPE_STATUSES.get(tx, receipt_type.id)
    type_rules.require_mintable(
        TypeStatus(found or receipt_type.status), name=receipt_type.name, version=receipt_type.version
    )


def _find_active_kid(connection: Connection, request: ReceiptIn, caller: Caller) -> str:
    """Find the issuer's newest active key, of the algorithm that the request names if it names one.

    Raises:
        NotFound: the tenant has no such issuer.
        Conflict: the issuer has no such key.
    """
    issuer = issuer_store.get(connection.execute, request.issuer_id, tenant_id=caller.tenant_id)
    active = [
        key.kid
        for key in issuer_store.list_keys(connection.execute, [issuer.id])[issuer.id]
        if key.status == KeyStatus.ACTIVE and request.alg in (None, key.alg)
    ]
    if not active:
        wanted = "" if request.alg is None else f" for {request.alg.value}"
        message = f"The issuer has no active key{wanted}. Add one: POST /v1/issuers/{issuer.id}/keys."
        raise Conflict(message, details={"reason": "no_active_key"})
    return active[-1]


def _record(
    tx: Transaction, prepared: PreparedReceipt, logged: SequencedEntry, decision_id: str | None, at: datetime
) -> ReceiptRecord:
    row = minting.build_record(prepared, logged, decision_id=decision_id)
    deed = AuditContext(row.tenant_id, prepared.caller, "receipt.mint", at, {"log_index": row.log_index})
    audited_write.insert(tx, store.receipts, row, deed)
    created = ReceiptCreated(
        receipt_id=row.id,
        issuer_id=row.issuer_id,
        receipt_type=row.receipt_type,
        receipt_version=row.receipt_version,
        log_index=row.log_index,
        created_at=row.created_at,
    )
    outbox.publish(tx, row.tenant_id, created, at=at)
    return row
