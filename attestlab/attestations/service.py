"""Service for attestations: mint, revoke, supersede, get, list, bundle, verify."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import lifecycle, mint_steps, minting, policy_enforcement, rules, store
from attestlab.attestations.events import AttestationCreated
from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.holdings import Holdings
from attestlab.attestations.lifecycle import TIMEKEEPER, StatusChange, StatusChanged
from attestlab.attestations.metering import service as metering
from attestlab.attestations.metering.daily_meter import Meter, verifications_per_day
from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.policy_enforcement import PolicyDecisions, PolicyEnforcement, PolicyStep, Profile
from attestlab.attestations.results import (
    NOT_FOUND,
    Export,
    Minted,
    RecordVerification,
    VerificationOutcome,
    VerifiedRecord,
)
from attestlab.attestations.rules import Status
from attestlab.attestations.shapes import AttestationsQuery
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.evidence import build_evidence
from attestlab.attestations.verification.facts import build_content, compute_status
from attestlab.attestations.verification.log_proofs import LogProofs, collect_proofs
from attestlab.attestations.verification.steps import VerificationResult, VerifierInput, verify
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound, PermissionDenied
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.lookups import Lookups
from attestlab.core.records import audit, outbox, row_digest
from attestlab.core.records.audit import AuditEntry
from attestlab.delivery.service import Deliveries, NewDelivery
from attestlab.issuers.rules import require_may_mint
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log.results import SignedHead
from attestlab.log.service import Log
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.orgs.rules import Caller
from attestlab.policy import store as policy_store
from attestlab.policy.decisions import Decisions


class Attestations:
    """Attestations of all tenants. Rows are the source of truth; the log makes them tamper-evident.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        issuers: Issuers,
        log: Log,
        status_lists: StatusListPublisher,
        deliveries: Deliveries,
        holdings: Holdings,
        decisions: Decisions,
        counters: Counters,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers
        self.log = log
        self.status_lists = status_lists
        self.deliveries = deliveries
        self.holdings = holdings
        self.enforcement = PolicyEnforcement(decisions)
        self.daily_meter = Meter(storage=storage, counters=counters)

    def mint(self, request: MintRequest, *, caller: Caller, tx: Transaction | None = None) -> Minted:
        """Mint an attestation: `prepare`, then `issue_or_raise`; raises the errors of both."""
        return self.issue_or_raise(self.prepare(request, caller=caller, tx=tx), tx=tx)

    def prepare(
        self, request: MintRequest, *, caller: Caller, tx: Transaction | None = None, lookups: Lookups | None = None
    ) -> PreparedAttestation:
        """Validate and sign an attestation, before the log assigns an index; a batch passes its `lookups`.

        Raises:
            NotFound: the caller's tenant has no such issuer, key, pack or attestation to supersede.
            PermissionDenied: the issuer is not ACTIVE.
            Conflict: the key is not active, or the attestation to supersede is not VALID.
            ValidationFailed: the request is invalid.
        """
        find = (lookups or Lookups()).find
        if (pack_id := request.pack_id) is not None:
            find(("pack", pack_id), lambda: self._require_pack(pack_id, caller, tx))
        if request.supersedes is not None:
            with self.storage.read(tx) as connection:  # one's own, not what a consumer may read
                superseded = store.get(connection, request.supersedes, tenant_id=caller.tenant_id)
            rules.require_valid(compute_status(superseded, now=self.clock.now()))
        name = ("signing_key", caller.tenant_id, request.issuer_id, request.kid)
        read_key = partial(self.get_signing_key, request=request, caller=caller)
        key = find(name, lambda: self.storage.cached_read(name, read_key, tx))
        return minting.prepare(request, key, caller=caller, issuers=self.issuers, now=self.clock.now())

    def _require_pack(self, pack_id: UUID, caller: Caller, tx: Transaction | None) -> None:
        """Require that the pack exists; one check before the write suffices, because packs are never removed."""
        with self.storage.read(tx) as connection:
            store.get_pack(connection, pack_id, tenant_id=caller.tenant_id)

    def get_signing_key(self, connection: Connection, request: MintRequest, *, caller: Caller) -> SigningKey:
        """Get the key that a request names, and require that issuer and key may mint now."""
        key = self.issuers.get_signing_key(
            connection, tenant_id=caller.tenant_id, issuer_id=request.issuer_id, kid=request.kid
        )
        require_may_mint(key.issuer_status, key.status)
        return key

    def issue_or_raise(self, prepared: PreparedAttestation, *, tx: Transaction | None = None) -> Minted:
        """Issue a prepared attestation, and raise a denial instead of returning it.

        Raises:
            PermissionDenied: policies deny the mint; without `tx`, the decision is recorded nevertheless.
            AttestLabError: any error of `issue`.
        """
        minted = self.issue(prepared, tx=tx)
        if isinstance(minted, PermissionDenied):
            raise minted
        return minted

    def issue(self, prepared: PreparedAttestation, *, tx: Transaction | None = None) -> Minted | PermissionDenied:
        """Append a prepared attestation to the log, and write its row, event and audit line.

        One transaction contains all of them. Under the writer's lock it checks again that issuer and key
        are unchanged, evaluates the policies, and changes the status of the superseded attestation. A denial
        is returned, not raised, so that the transaction commits; it then contains only the recorded decision.

        Raises:
            Conflict: issuer or key changed since `prepare`, the id is taken, or the superseded one is not VALID.
            RateLimited: the tenant has used its plan's daily quota.
        """
        with self.storage.write(tx) as tx:
            mint_steps.require_unchanged(tx, prepared.key, issuers=self.issuers)
            at = self.clock.now()  # not `created_at`, which the holder of an external key chooses
            old_id = prepared.request.supersedes
            old = None if old_id is None else self._get_valid(tx, old_id, caller=prepared.caller, at=at)
            decision = self.enforcement.enforce_mint(tx, prepared, now=at)
            if isinstance(decision, PermissionDenied):
                return decision
            logged = mint_steps.append(tx, prepared, log=self.log, taken_ids=store.TAKEN_IDS, at=at)
            row = minting.build_record(prepared, log_index=logged.index, decision_id=decision)
            tx.add(store.attestations, row)
            self._publish_and_audit(tx, prepared.caller, row, at)
            if row.recipient_email is not None:
                delivery = NewDelivery(row.id, row.tenant_id, row.issuer_id, prepared.caller, at)
                self.deliveries.send(tx, delivery, recipient_email=row.recipient_email)
            change = StatusChange(Status.SUPERSEDED, at, successor=row.id)
            ended = None if old is None else self._change_status(tx, old, change, prepared.caller)
        return Minted(row, logged, prepared.warnings, ended)

    def supersede(
        self, attestation_id: UUID, request: MintRequest, *, caller: Caller, tx: Transaction | None = None
    ) -> Minted:
        """Mint an attestation that replaces another, which becomes SUPERSEDED.

        Raises:
            Conflict: the attestation to supersede is not VALID.
            AttestLabError: any error of `mint`.
        """
        return self.mint(replace(request, supersedes=attestation_id), caller=caller, tx=tx)

    def revoke(
        self, attestation_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None
    ) -> StatusChanged:
        """Revoke an attestation permanently.

        One transaction writes the new status and its log entry, so every revocation is in the
        log. The entry contains a commitment to the reason; readers of the log do not learn it.

        Raises:
            NotFound: the caller's tenant has no attestation with this id.
            Conflict: the attestation is no longer VALID.
        """
        with self.storage.write(tx) as tx:
            at = self.clock.now()
            row = self._get_valid(tx, attestation_id, caller=caller, at=at)
            return self._change_status(tx, row, StatusChange(Status.REVOKED, at, reason=reason), caller)

    def _get_valid(self, tx: Transaction, attestation_id: UUID, *, caller: Caller, at: datetime) -> AttestationRecord:
        row = store.get_for_update(tx, attestation_id, tenant_id=caller.tenant_id)
        rules.require_valid(compute_status(row, now=at))
        return row

    def _change_status(
        self, tx: Transaction, row: AttestationRecord, change: StatusChange, caller: Caller
    ) -> StatusChanged:
        (ended,) = lifecycle.apply_status_change(tx, self.log, [row], change, actor_of=lambda _tenant_id: caller)
        return ended

    def _publish_and_audit(self, tx: Transaction, caller: Caller, row: AttestationRecord, at: datetime) -> None:
        created = AttestationCreated(
            attestation_id=row.id,
            issuer_id=row.issuer_id,
            kid=row.kid,
            schema=row.schema_id,
            log_index=row.log_index,
            created_at=row.created_at,
        )
        outbox.publish(tx, row.tenant_id, created, at=at)
        digest = row_digest.row_sha256(store.attestations, row._asdict())
        entry = AuditEntry(
            tenant_id=row.tenant_id,
            actor=caller,
            action="attestation.mint",
            resource_type="attestation",
            resource_id=str(row.id),
            at=at,
            metadata={"log_index": row.log_index, row_digest.METADATA_KEY: digest},
        )
        audit.record(tx, entry)

    def expire_due(self, tx: Transaction, *, limit: int) -> int:
        """Store EXPIRED for up to `limit` due attestations, return how many; TimeUnconfirmed if the clock leapt."""
        self.log.time.require_credible(tx.connection)
        at = self.clock.now()
        rows = store.find_expired(tx, now=at, limit=limit)
        lifecycle.apply_status_change(
            tx, self.log, rows, StatusChange(Status.EXPIRED, at), actor_of=lambda _tenant_id: TIMEKEEPER
        )
        return len(rows)

    def get(self, attestation_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> AttestationRecord:
        """Get an attestation that the caller may read: of its tenant, or held by a consumer.

        Raises:
            NotFound: there is none with this id.
        """
        with self.storage.read(tx) as connection:
            return self.holdings.get(connection, attestation_id, caller=caller)

    def page(
        self, query: AttestationsQuery, *, caller: Caller, before: int | None = None, offset: int = 0, limit: int = 50
    ) -> list[AttestationRecord]:
        """List attestations that the caller may read in descending order of log index, below `before`."""
        now, is_readable = self.clock.now(), self.holdings.build_condition(caller)
        with self.storage.read() as connection:
            return store.page(
                connection, query, is_readable=is_readable, now=now, before=before, offset=offset, limit=limit
            )

    def verify(
        self,
        attestation_id: UUID,
        presented: VerifierInput = VerifierInput(),  # noqa: B008 frozen
        *,
        follow: bool = False,
        profile: Profile | None = None,
        client_address: str | None = None,
    ) -> VerificationOutcome:
        """Verify an attestation in eight steps, against the records and the log. The caller must meter it (`meter`).

        With `follow`, the outcome also has the last successor of a superseded attestation; only the given attestation
        is verified. The policies of `profile` apply in addition to those of the issuer; both may test the risk of
        `client_address`.

        Raises:
            NotFound: the profile does not belong to its caller's tenant.
        """
        with self.storage.read() as connection:
            return self._verify(connection, attestation_id, presented, follow, profile, client_address)

    def _verify(
        self,
        connection: Connection,
        attestation_id: UUID,
        presented: VerifierInput,
        follow: bool,
        profile: Profile | None,
        client_address: str | None,
    ) -> VerificationOutcome:
        now = self.clock.now()
        if profile is not None:
            policy_store.get_profile(connection.execute, profile.id, tenant_id=profile.caller.tenant_id)
        evidence = store.get_with_evidence(connection, attestation_id)
        if evidence is None:
            return VerificationOutcome(attestation_id, None, NOT_FOUND, now)
        row = evidence.attestation
        look = RecordVerification(evidence, build_content(row), Status(row.status), client_address, now)
        report, decisions = self.verify_record(connection, look, presented, profile=profile)
        follow = follow and row.superseded_by is not None
        latest = store.find_latest_successor(connection, attestation_id) if follow else None
        return VerificationOutcome(attestation_id, evidence, report, now, decisions, latest)

    def verify_record(
        self, connection: Connection, record: RecordVerification, presented: VerifierInput, *, profile: Profile | None
    ) -> tuple[VerificationResult, PolicyDecisions]:
        """Verify an attestation or receipt that was found; the caller must meter it and record the decisions."""
        stored, now = record.stored, record.at
        evaluate = self.enforcement.evaluate_verification
        step = PolicyStep(
            partial(evaluate, connection, stored, profile=profile, client_address=record.client_address, now=now)
        )
        evidence = build_evidence(connection, stored, record.content, record.status, issuers=self.issuers, log=self.log)
        report = verify(evidence, presented, now=now, policies_allow=step)
        return report, step.policy_decisions

    def verify_metered(
        self,
        attestation_id: UUID,
        presented: VerifierInput = VerifierInput(),  # noqa: B008 frozen
        *,
        follow: bool = False,
        profile: Profile | None = None,
        client_address: str | None = None,
    ) -> VerificationOutcome:
        """Verify an attestation, and count it towards the daily limit of the issuer's plan.

        No tenant pays for an unknown id. The response need not wait for a commit: `WriteBehind` writes the usage.

        Raises:
            BillingLimit: the issuer's tenant has used its plan's daily verifications.
            NotFound: the profile does not belong to its caller's tenant.
        """
        with self.storage.read() as connection:
            verified = self._verify(connection, attestation_id, presented, follow, profile, client_address)
            if verified.evidence is not None:
                limit = verifications_per_day(verified.evidence)
                self.daily_meter.take(connection, verified.metered_verification, limit=limit)
        return verified

    def meter(self, tx: Transaction, verified: VerifiedRecord[RecordEvidence]) -> None:
        """Write the usage, the event and the policy decisions of a verification in the caller's transaction."""
        if verified.evidence is not None:
            pending = metering.UnwrittenVerifications()
            pending.add(verified.metered_verification)
            metering.record(tx, pending)
            policy_enforcement.record_decisions(tx, verified.policy_decisions, what="this verification", at=verified.at)

    def load_evidence(
        self, attestation_id: UUID, *, caller: Caller
    ) -> tuple[AttestationEvidence, LogProofs, SignedHead]:
        """Load the parts of a bundle: attestation with issuer, key and log entry, log proofs, and signed tree head.

        Raises:
            NotFound: the caller may read no attestation with this id.
        """
        with self.storage.read() as connection:
            self.holdings.get(connection, attestation_id, caller=caller)
            return self._load_evidence(connection, attestation_id)

    def export(self, attestation_id: UUID, *, caller: Caller | None, client_address: str | None = None) -> Export:
        """Load the parts of a bundle, and the policy decisions about its export.

        The caller of this method must record the decisions, and must not return the bundle if one denies.
        Without `caller` the attestation may be of any tenant; only the public page may omit it.

        Raises:
            NotFound: the caller may read no attestation with this id; without `caller`, no tenant has one.
        """
        with self.storage.read() as connection:
            if caller is not None:
                self.holdings.get(connection, attestation_id, caller=caller)
            evidence, proofs, head = self._load_evidence(connection, attestation_id)
            decisions = self.enforcement.evaluate_export(
                connection, evidence, caller=caller, client_address=client_address, now=self.clock.now()
            )
            return Export(evidence, proofs, head, decisions)

    def record_decisions(
        self, policy_decisions: PolicyDecisions, *, what: str, tx: Transaction | None = None
    ) -> PermissionDenied | None:
        """Record policy decisions, and return the error for the caller when one of them denies `what`."""
        if not policy_decisions:
            return None
        with self.storage.write(tx) as tx:
            return policy_enforcement.record_decisions(tx, policy_decisions, what=what, at=self.clock.now())

    def _load_evidence(
        self, connection: Connection, attestation_id: UUID
    ) -> tuple[AttestationEvidence, LogProofs, SignedHead]:
        evidence = store.get_with_evidence(connection, attestation_id)
        if evidence is None:
            raise NotFound("attestation", attestation_id)
        return evidence, *collect_proofs(connection, self.log, self.status_lists, evidence, rules.ATTESTATION)
