"""The verbs of attestations: mint, revoke, supersede, get, list, bundle, verify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import lifecycle, minting, policy_enforcement, rules, store
from attestlab.attestations.events import AttestationCreated
from attestlab.attestations.lifecycle import StatusChange, StatusChanged, Timekeeper
from attestlab.attestations.metering import service as metering
from attestlab.attestations.metering.daily_meter import Meter, verifications_per_day
from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.policy_enforcement import PolicyDecisions, PolicyEnforcement, PolicyStep, Profile
from attestlab.attestations.rules import Reason, Status, Verdict
from attestlab.attestations.verification import evidence, log_proofs
from attestlab.attestations.verification.facts import compute_status
from attestlab.attestations.verification.log_proofs import LogProofs
from attestlab.attestations.verification.steps import StepResult, VerificationResult, VerifierInput, verify
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audit, outbox, row_digest
from attestlab.core.records.audit import AuditEntry
from attestlab.delivery.service import Deliveries
from attestlab.issuers.rules import require_may_mint
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log.entries import EntryType
from attestlab.log.results import SignedHead
from attestlab.log.service import Log, SequencedEntry
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller
from attestlab.policy import store as policy_store
from attestlab.policy.decisions import Decisions

NOT_FOUND = VerificationResult(
    Verdict.NOT_FOUND, (StepResult("resolve", (Reason.ATTESTATION_NOT_FOUND,), Verdict.NOT_FOUND),)
)


@dataclass(frozen=True)
class Minted:
    """A minted attestation; `logged` holds proof and checkpoint once the transaction is sealed.

    `ended` is the one whose place it took, if it took one.
    """

    row: dict[str, Any] = field(repr=False)
    logged: SequencedEntry
    warnings: tuple[str, ...]
    ended: StatusChanged | None = field(default=None, repr=False)

    @property
    def id(self) -> UUID:
        """The attestation's id."""
        found: UUID = self.row["id"]
        return found


@dataclass(frozen=True)
class VerificationOutcome:
    """What a verification found, and the row it found it on (None: no such attestation)."""

    attestation_id: UUID
    row: AnyRow | None = field(repr=False)
    report: VerificationResult
    at: datetime
    latest: UUID | None = None  # what a superseded one leads to in the end, where that was asked for
    policy_decisions: PolicyDecisions = field(default=(), repr=False)  # what policies said of it, to be kept

    @property
    def verdict(self) -> Verdict:
        """The one answer."""
        return self.report.verdict

    @property
    def metered(self) -> metering.MeteredVerification:
        """What is counted of it; only of one that was found."""
        row: Any = self.row
        return metering.MeteredVerification(row.tenant_id, row.issuer_id, row.id, self.verdict, self.at)


@dataclass(frozen=True)
class Export:
    """The parts of a proof bundle, and what policies say of handing it out."""

    row: AnyRow
    proofs: LogProofs
    head: SignedHead
    policy_decisions: PolicyDecisions


class Attestations:
    """The main job. Rows are the truth; the log makes it a truth that cannot be taken back."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        issuers: Issuers,
        log: Log,
        status_lists: StatusListPublisher,
        deliveries: Deliveries,
        decisions: Decisions,
        counters: Counters,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers
        self.log = log
        self.status_lists = status_lists
        self.deliveries = deliveries
        self.enforcement = PolicyEnforcement(decisions)
        self.daily_meter = Meter(storage=storage, counters=counters)

    def mint(self, request: MintRequest, *, caller: Caller) -> Minted:
        """Check, sign, log: draft and record in one go."""
        return self.issue_or_raise(self.prepare(request, caller=caller))

    def prepare(self, request: MintRequest, *, caller: Caller) -> PreparedAttestation:
        """A signed prepared, made before a place in the log is asked for.

        Raises:
            NotFound: no such issuer or key in the caller's tenant, or nothing there to supersede.
            PermissionDenied: the issuer is not ACTIVE.
            Conflict: the key is not active, or what is to be superseded is not VALID.
            ValidationFailed: what is to be attested is not acceptable.
        """
        if request.pack_id is not None:
            self._require_pack(request.pack_id, caller)
        if request.supersedes is not None:
            rules.require_valid(compute_status(self.get(request.supersedes, caller=caller), now=self.clock.now()))
        name = ("signing_key", caller.tenant_id, request.issuer_id, request.kid)
        key = self.storage.cached_read(
            name, lambda connection: self.get_signing_key(connection, request, caller=caller)
        )
        return minting.prepare(request, key, caller=caller, issuers=self.issuers, now=self.clock.now())

    def _require_pack(self, pack_id: UUID, caller: Caller) -> None:
        """Looked at once, before the write: packs are never removed."""
        with self.storage.read() as connection:
            store.get_pack(connection, pack_id, tenant_id=caller.tenant_id)

    def get_signing_key(self, connection: Connection, request: MintRequest, *, caller: Caller) -> SigningKey:
        """The key a request names, if issuer and key may mint now."""
        key = self.issuers.get_signing_key(
            connection, tenant_id=caller.tenant_id, issuer_id=request.issuer_id, kid=request.kid
        )
        require_may_mint(key.issuer_status, key.status)
        return key

    def issue_or_raise(self, prepared: PreparedAttestation) -> Minted:
        """`attempt`, of whoever has nothing else to write.

        Raises:
            PermissionDenied: policies deny it; the decision is kept all the same.
            AttestLabError: whatever `attempt` raises.
        """
        minted = self.issue(prepared)
        if isinstance(minted, PermissionDenied):
            raise minted
        return minted

    def issue(self, prepared: PreparedAttestation) -> Minted | PermissionDenied:
        """Give a draft its place in the log, together with its row, event and audit line.

        One transaction holds them all: either everything or nothing. What the draft
        relied on is looked at again, under the writer's lock, where the policies are asked
        too. What it supersedes ends in the same transaction. A refusal of policies is
        returned, not raised: what the transaction then holds is the decision alone.

        Raises:
            Conflict: issuer or key changed since the prepared, the id is taken, or what it supersedes is not VALID.
            RateLimited: the plan allows no more of them today.
        """
        with self.storage.write() as tx:
            self._require_unchanged(tx, prepared)
            at = self.clock.now()  # which an external key's holder does not choose, as they do created_at
            old_id = prepared.row["supersedes"]
            old = None if old_id is None else self._get_valid(tx, old_id, caller=prepared.caller, at=at)
            decision = self.enforcement.enforce_mint(tx, prepared.key, caller=prepared.caller, now=at)
            if isinstance(decision, PermissionDenied):
                return decision
            if prepared.row["custody"] == "external":
                self._require_free_id(tx, prepared.row["id"])
            quotas.count_attestation(tx, prepared.caller, at=at)
            logged = self.log.append(tx, prepared.entry, kind=EntryType.MINTED)
            row = {**prepared.row, "log_index": logged.index, "decision_id": decision}
            tx.add(store.attestations, row)
            self._publish_and_audit(tx, prepared.caller, row, at)
            if row["recipient_email"] is not None:
                self.deliveries.send(tx, row, actor=prepared.caller, at=at)
            change = StatusChange(Status.SUPERSEDED, at, successor=row["id"])
            ended = None if old is None else self._change_status(tx, old, change, prepared.caller)
        return Minted(row, logged, prepared.warnings, ended)

    def supersede(self, attestation_id: UUID, request: MintRequest, *, caller: Caller) -> Minted:
        """Mint an attestation that takes the place of another, which is SUPERSEDED from then on.

        Raises:
            Conflict: the other is not VALID.
            AttestLabError: whatever `mint` refuses.
        """
        return self.mint(replace(request, supersedes=attestation_id), caller=caller)

    def revoke(self, attestation_id: UUID, *, reason: str, caller: Caller) -> StatusChanged:
        """Withdraw an attestation for good.

        The new status and its log entry are one transaction: a revocation that is not in
        the log did not happen. Whoever reads the log learns that there is a reason, not which.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
            Conflict: it is no longer VALID.
        """
        with self.storage.write() as tx:
            at = self.clock.now()
            row = self._get_valid(tx, attestation_id, caller=caller, at=at)
            return self._change_status(tx, row, StatusChange(Status.REVOKED, at, reason=reason), caller)

    def _get_valid(self, tx: Transaction, attestation_id: UUID, *, caller: Caller, at: datetime) -> AnyRow:
        row = store.get_for_update(tx, attestation_id, tenant_id=caller.tenant_id)
        rules.require_valid(compute_status(row, now=at))
        return row

    def _change_status(self, tx: Transaction, row: AnyRow, change: StatusChange, caller: Caller) -> StatusChanged:
        (ended,) = lifecycle.apply_status_change(tx, self.log, [row], change, actor_of=lambda _tenant_id: caller)
        return ended

    def _require_unchanged(self, tx: Transaction, prepared: PreparedAttestation) -> None:
        key = prepared.key
        now = self.issuers.get_signing_key_for_update(tx, tenant_id=key.tenant_id, issuer_id=key.issuer_id, kid=key.kid)
        if now != key:
            require_may_mint(now.issuer_status, now.status)
            raise Conflict("Issuer or key changed while the attestation was being minted; send it again.")

    def _require_free_id(self, tx: Transaction, attestation_id: UUID) -> None:
        """Only an external key's holder chooses an id; our own are never the same twice."""
        named = tx.buffer("attestations.named")  # a buffer, so that a job that is taken back frees its id
        if attestation_id in named or store.is_taken(tx.connection, attestation_id):
            raise Conflict(f"An attestation {attestation_id} exists already.", details={"id": str(attestation_id)})
        named.append(attestation_id)

    def _publish_and_audit(self, tx: Transaction, caller: Caller, row: dict[str, Any], at: datetime) -> None:
        created = AttestationCreated(
            attestation_id=row["id"],
            issuer_id=row["issuer_id"],
            kid=row["kid"],
            schema=row["schema_id"],
            log_index=row["log_index"],
            created_at=row["created_at"],
        )
        outbox.publish(tx, row["tenant_id"], created, at=at)
        entry = AuditEntry(
            tenant_id=row["tenant_id"],
            actor=caller,
            action="attestation.mint",
            resource_type="attestation",
            resource_id=str(row["id"]),
            at=at,
            metadata={"log_index": row["log_index"], "row_sha256": row_digest.row_sha256(store.attestations, row)},
        )
        audit.record(tx, entry)

    def expire_due(self, tx: Transaction, *, limit: int) -> int:
        """Make up to `limit` due expiries permanent and return how many; TimeUnconfirmed where the clock leapt."""
        self.log.time.require_credible(tx.connection)
        at = self.clock.now()
        found = store.find_expired(tx, now=at, limit=limit)
        lifecycle.apply_status_change(
            tx, self.log, found, StatusChange(Status.EXPIRED, at), actor_of=lambda _tenant_id: Timekeeper()
        )
        return len(found)

    def get(self, attestation_id: UUID, *, caller: Caller) -> AnyRow:
        """The caller's attestation.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            return store.get(connection, attestation_id, tenant_id=caller.tenant_id)

    def page(
        self, wanted: store.Filter, *, caller: Caller, before: int | None = None, offset: int = 0, limit: int = 50
    ) -> Sequence[AnyRow]:
        """The caller's attestations, newest first: by their place in the log, from the one behind `before`."""
        with self.storage.read() as connection:
            return store.page(
                connection,
                tenant_id=caller.tenant_id,
                wanted=wanted,
                now=self.clock.now(),
                before=before,
                offset=offset,
                limit=limit,
            )

    def verify(
        self,
        attestation_id: UUID,
        presented: VerifierInput = VerifierInput(),  # noqa: B008 frozen
        *,
        follow: bool = False,
        profile: Profile | None = None,
    ) -> VerificationOutcome:
        """Run the eight steps on what the records and the log hold. Metering is the caller's (`meter`).

        With `follow` the answer also names the last of those that superseded one another, of which only this was asked.
        The policies of a `profile` join those of the issuer.

        Raises:
            NotFound: the profile is not of its caller's tenant.
        """
        with self.storage.read() as connection:
            return self._verify(connection, attestation_id, presented, follow, profile)

    def _verify(
        self,
        connection: Connection,
        attestation_id: UUID,
        presented: VerifierInput,
        follow: bool,
        profile: Profile | None,
    ) -> VerificationOutcome:
        now = self.clock.now()
        if profile is not None:
            policy_store.get_profile(connection.execute, profile.id, tenant_id=profile.caller.tenant_id)
        row = store.get_with_evidence(connection, attestation_id)
        if row is None:
            return VerificationOutcome(attestation_id, None, NOT_FOUND, now)
        step = PolicyStep(self.enforcement, row, profile, now)
        found = evidence.build_evidence(connection, row, issuers=self.issuers, log=self.log)
        report = verify(found, presented, now=now, policies_allow=step)
        latest = store.find_latest_successor(connection, row.id) if follow and row.superseded_by is not None else None
        return VerificationOutcome(attestation_id, row, report, now, latest, step.policy_decisions)

    def verify_metered(
        self,
        attestation_id: UUID,
        presented: VerifierInput = VerifierInput(),  # noqa: B008 frozen
        *,
        follow: bool = False,
        profile: Profile | None = None,
    ) -> VerificationOutcome:
        """`verify`, counted towards the day of the issuer's plan. An unknown id costs no tenant anything.

        The answer need not wait for more; writing the usage down is `WriteBehind`'s.

        Raises:
            BillingLimit: the plan of the issuer's tenant allows no more of them today.
            NotFound: the profile is not of its caller's tenant.
        """
        with self.storage.read() as connection:
            verified = self._verify(connection, attestation_id, presented, follow, profile)
            if verified.row is not None:
                self.daily_meter.take(connection, verified.metered, limit=verifications_per_day(verified.row))
        return verified

    def meter(self, tx: Transaction, verified: VerificationOutcome) -> None:
        """Write the usage, the event and the policy decisions of a verification in one transaction of the caller."""
        if verified.row is not None:
            pending = metering.UnwrittenVerifications()
            pending.add(verified.metered)
            metering.record(tx, pending)
            policy_enforcement.record_decisions(tx, verified.policy_decisions, what="this verification", at=verified.at)

    def load_evidence(self, attestation_id: UUID, *, caller: Caller) -> tuple[AnyRow, LogProofs, SignedHead]:
        """The caller's attestation with issuer, key and entry, its proofs, and the head that proves them; for a bundle.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            store.get(connection, attestation_id, tenant_id=caller.tenant_id)
            return self._load_bundle_evidence(connection, attestation_id)

    def export(self, attestation_id: UUID, *, caller: Caller | None) -> Export:
        """The same, with what policies say of handing it out: that is to be kept first, and no denial is passed by.

        Without a `caller` it is for whoever knows the id, of any tenant; only the public page may ask so.

        Raises:
            NotFound: there is none of that id in the caller's tenant, or none at all.
        """
        with self.storage.read() as connection:
            if caller is not None:
                store.get(connection, attestation_id, tenant_id=caller.tenant_id)
            row, found, head = self._load_bundle_evidence(connection, attestation_id)
            return Export(row, found, head, self.enforcement.evaluate_export(row, caller=caller, now=self.clock.now()))

    def record_decisions(self, policy_decisions: PolicyDecisions, *, what: str) -> PermissionDenied | None:
        """Write down what policies said; a refusal where one denies, for whoever asked for `what`."""
        if not policy_decisions:
            return None
        with self.storage.write() as tx:
            return policy_enforcement.record_decisions(tx, policy_decisions, what=what, at=self.clock.now())

    def _load_bundle_evidence(
        self, connection: Connection, attestation_id: UUID
    ) -> tuple[AnyRow, LogProofs, SignedHead]:
        row = store.get_with_evidence(connection, attestation_id)
        if row is None:
            raise NotFound("attestation", attestation_id)
        return row, *log_proofs.collect_proofs(connection, self.log, self.status_lists, row)
