"""The verbs of attestations: mint, revoke, supersede, get, list, bundle, verify."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import changes, drafting, metering, proofs, rules, store
from attestlab.attestations.bundle import require_entry_speaks_of
from attestlab.attestations.changes import Change, Ended, Timekeeper
from attestlab.attestations.drafting import Draft, MintRequest
from attestlab.attestations.events import AttestationCreated
from attestlab.attestations.facts import issuer_facts, logged_at, members_of, statement_of, status_of
from attestlab.attestations.proofs import Proofs
from attestlab.attestations.rules import Reason, Statement, Status, Verdict
from attestlab.attestations.verification import (
    Evidence,
    Finding,
    KeyFacts,
    NoPolicies,
    PolicyGate,
    Presented,
    Report,
    verify,
)
from attestlab.core import audit, outbox, rows
from attestlab.core.audit import AuditEntry
from attestlab.core.clock import Clock
from attestlab.core.errors import Conflict, NotFound, ProofInvalid
from attestlab.core.signing import Algorithm
from attestlab.core.storage import Storage
from attestlab.core.transaction import AnyRow, Transaction
from attestlab.delivery.service import Deliveries
from attestlab.issuers.rules import KeyStatus, require_may_mint
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log import rules as log_rules
from attestlab.log.answers import Head
from attestlab.log.entries import EntryType
from attestlab.log.listing import StatusLists
from attestlab.log.service import Appended, Log
from attestlab.orgs import quotas
from attestlab.orgs.plans import allowance
from attestlab.orgs.rules import Caller

NOT_FOUND = Report(Verdict.NOT_FOUND, (Finding("resolve", (Reason.ATTESTATION_NOT_FOUND,), Verdict.NOT_FOUND),))


@dataclass(frozen=True)
class Minted:
    """A minted attestation; `logged` holds proof and checkpoint once the transaction is sealed.

    `ended` is the one whose place it took, if it took one.
    """

    row: dict[str, Any]
    logged: Appended
    warnings: tuple[str, ...]
    ended: Ended | None = None

    @property
    def id(self) -> UUID:
        """The attestation's id."""
        found: UUID = self.row["id"]
        return found


@dataclass(frozen=True)
class Verified:
    """What a verification found, and the row it found it on (None: no such attestation)."""

    attestation_id: UUID
    row: AnyRow | None
    report: Report
    at: datetime
    latest: UUID | None = None  # what a superseded one leads to in the end, where that was asked for

    @property
    def verdict(self) -> Verdict:
        """The one answer."""
        return self.report.verdict


class Attestations:
    """The main job. Rows are the truth; the log makes it a truth that cannot be taken back."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        issuers: Issuers,
        log: Log,
        status_lists: StatusLists,
        deliveries: Deliveries,
        gate: PolicyGate | None = None,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers
        self.log = log
        self.status_lists = status_lists
        self.deliveries = deliveries
        self.gate = gate or NoPolicies()

    def mint(self, request: MintRequest, *, caller: Caller) -> Minted:
        """Check, sign, log: draft and record in one go."""
        return self.record(self.draft(request, caller=caller))

    def draft(self, request: MintRequest, *, caller: Caller) -> Draft:
        """A signed draft, made before a place in the log is asked for.

        Raises:
            NotFound: no such issuer or key in the caller's tenant, or nothing there to supersede.
            PermissionDenied: the issuer is not ACTIVE.
            Conflict: the key is not active, or what is to be superseded is not VALID.
            ValidationFailed: what is to be attested is not acceptable.
        """
        if request.pack_id is not None:
            self._require_pack(request.pack_id, caller)
        if request.supersedes is not None:
            rules.require_valid(status_of(self.get(request.supersedes, caller=caller), now=self.clock.now()))
        name = ("signing_key", caller.tenant_id, request.issuer_id, request.kid)
        key = self.storage.recalled(name, lambda connection: self.signing_key(connection, request, caller=caller))
        return drafting.draft(request, key, caller=caller, issuers=self.issuers, now=self.clock.now())

    def _require_pack(self, pack_id: UUID, caller: Caller) -> None:
        """Looked at once, before the write: packs are never removed."""
        with self.storage.read() as connection:
            store.owned_pack(connection, pack_id, tenant_id=caller.tenant_id)

    def signing_key(self, connection: Connection, request: MintRequest, *, caller: Caller) -> SigningKey:
        """The key a request names, if issuer and key may mint now."""
        key = self.issuers.signing_key(
            connection, tenant_id=caller.tenant_id, issuer_id=request.issuer_id, kid=request.kid
        )
        require_may_mint(key.issuer_status, key.status)
        return key

    def record(self, draft: Draft) -> Minted:
        """Give a draft its place in the log, together with its row, event and audit line.

        One transaction holds them all: either everything or nothing. What the draft
        relied on is looked at again, under the writer's lock. What it supersedes ends in
        the same transaction.

        Raises:
            Conflict: issuer or key changed since the draft, the id is taken, or what it supersedes is not VALID.
            RateLimited: the plan allows no more of them today.
        """
        with self.storage.write() as tx:
            self._require_unchanged(tx, draft)
            at = self.clock.now()  # which an external key's holder does not choose, as they do created_at
            old_id = draft.row["supersedes"]
            old = None if old_id is None else self._current(tx, old_id, caller=draft.caller, at=at)
            quotas.count_attestation(tx, draft.caller, at=at)
            logged = self.log.append(tx, draft.entry, kind=EntryType.MINTED)
            row = {**draft.row, "log_index": logged.index}
            tx.add(store.attestations, row)
            self._tell(tx, draft.caller, row, at)
            if row["recipient_email"] is not None:
                self.deliveries.send(tx, row, actor=draft.caller, at=at)
            change = Change(Status.SUPERSEDED, at, successor=row["id"])
            ended = None if old is None else self._end(tx, old, change, draft.caller)
        return Minted(row, logged, draft.warnings, ended)

    def supersede(self, attestation_id: UUID, request: MintRequest, *, caller: Caller) -> Minted:
        """Mint an attestation that takes the place of another, which is SUPERSEDED from then on.

        Raises:
            Conflict: the other is not VALID.
            AttestLabError: whatever `mint` refuses.
        """
        return self.mint(replace(request, supersedes=attestation_id), caller=caller)

    def revoke(self, attestation_id: UUID, *, reason: str, caller: Caller) -> Ended:
        """Withdraw an attestation for good.

        The new status and its log entry are one transaction: a revocation that is not in
        the log did not happen. Whoever reads the log learns that there is a reason, not which.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
            Conflict: it is no longer VALID.
        """
        with self.storage.write() as tx:
            at = self.clock.now()
            row = self._current(tx, attestation_id, caller=caller, at=at)
            return self._end(tx, row, Change(Status.REVOKED, at, reason=reason), caller)

    def _current(self, tx: Transaction, attestation_id: UUID, *, caller: Caller, at: datetime) -> AnyRow:
        row = store.owned_now(tx, attestation_id, tenant_id=caller.tenant_id)
        rules.require_valid(status_of(row, now=at))
        return row

    def _end(self, tx: Transaction, row: AnyRow, change: Change, caller: Caller) -> Ended:
        (ended,) = changes.end(tx, self.log, [row], change, actor_of=lambda _tenant_id: caller)
        return ended

    def _require_unchanged(self, tx: Transaction, draft: Draft) -> None:
        key = draft.key
        now = self.issuers.signing_key_now(tx, tenant_id=key.tenant_id, issuer_id=key.issuer_id, kid=key.kid)
        if now != key:
            require_may_mint(now.issuer_status, now.status)
            raise Conflict("Issuer or key changed while the attestation was being minted; send it again.")
        if draft.row["custody"] == "external":
            self._require_free_id(tx, draft.row["id"])

    def _require_free_id(self, tx: Transaction, attestation_id: UUID) -> None:
        """Only an external key's holder chooses an id; our own are never the same twice."""
        named = tx.buffer("attestations.named")  # a buffer, so that a job that is taken back frees its id
        if attestation_id in named or store.is_taken(tx.connection, attestation_id):
            raise Conflict(f"An attestation {attestation_id} exists already.", details={"id": str(attestation_id)})
        named.append(attestation_id)

    def _tell(self, tx: Transaction, caller: Caller, row: dict[str, Any], at: datetime) -> None:
        created = AttestationCreated(
            attestation_id=row["id"],
            issuer_id=row["issuer_id"],
            kid=row["kid"],
            schema=row["schema_id"],
            log_index=row["log_index"],
            created_at=row["created_at"],
        )
        outbox.tell(tx, row["tenant_id"], created, at=at)
        entry = AuditEntry(
            tenant_id=row["tenant_id"],
            actor=caller,
            action="attestation.mint",
            resource_type="attestation",
            resource_id=str(row["id"]),
            at=at,
            metadata={"log_index": row["log_index"], "row_sha256": rows.row_sha256(store.attestations, row)},
        )
        audit.record(tx, entry)

    def expire_due(self, tx: Transaction, *, limit: int) -> int:
        """Make permanent what time has done: up to `limit` attestations that ran out; returns how many there were."""
        at = self.clock.now()
        found = store.due(tx, now=at, limit=limit)
        changes.end(tx, self.log, found, Change(Status.EXPIRED, at), actor_of=lambda _tenant_id: Timekeeper())
        return len(found)

    def get(self, attestation_id: UUID, *, caller: Caller) -> AnyRow:
        """The caller's attestation.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            return store.owned(connection, attestation_id, tenant_id=caller.tenant_id)

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
        presented: Presented = Presented(),  # noqa: B008 frozen
        *,
        follow: bool = False,
    ) -> Verified:
        """Run the eight steps on what the records and the log hold. Metering is the caller's (`meter`).

        With `follow` the answer also names the last of those that superseded one another, of which only this was asked.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            row = store.with_evidence(connection, attestation_id)
            if row is None:
                return Verified(attestation_id, None, NOT_FOUND, now)
            report = verify(self._evidence(connection, row), presented, now=now, gate=self.gate)
            latest = store.latest(connection, row.id) if follow and row.superseded_by is not None else None
        return Verified(attestation_id, row, report, now, latest)

    def meter(self, tx: Transaction, verified: Verified) -> None:
        """Count a verification for the issuer's tenant and tell of it; an unknown id costs nobody.

        Raises:
            BillingLimit: the plan of the issuer's tenant allows no more of them today.
        """
        row = verified.row
        if row is not None:
            limit = None if row.plan is None else allowance(row.plan, row.adjusted).verifications_per_day
            counted = metering.Verified(row.tenant_id, row.issuer_id, row.id, verified.verdict, verified.at)
            metering.count(tx, counted, limit=limit)

    def _evidence(self, connection: Connection, row: AnyRow) -> Evidence:
        statement = statement_of(row)
        return Evidence(
            statement=statement,
            claims=row.claims,
            signature=row.signature,
            status=Status(row.status),
            log_index=row.log_index,
            logged_at=logged_at(row),
            issuer=issuer_facts(row),
            key=self._key_facts(row),
            prove_logged=lambda: self._prove_logged(connection, row, statement),
        )

    def _key_facts(self, row: AnyRow) -> KeyFacts | None:
        if row.spki is None:
            return None
        public = self.issuers.public_key(Algorithm(row.alg), row.spki)
        return KeyFacts(public, KeyStatus(row.key_status), row.key_changed_index, row.compromised_at)

    def _prove_logged(self, connection: Connection, row: AnyRow, statement: Statement) -> None:
        """The entry opens to this attestation and stands under the head we signed."""
        if row.entry is None:
            raise ProofInvalid("The log has no entry at the attestation's index.")
        require_entry_speaks_of(
            members_of(row.entry),
            row.nonce,
            statement=statement,
            claims=row.claims,
            signature=row.signature,
            public_key=row.spki,
        )
        proof = self.log.inclusion(connection, row.log_index)
        log_rules.verify_inclusion(
            row.log_index, proof.tree_size, log_rules.leaf_hash(row.entry), proof.hashes, proof.root
        )

    def evidence_of(self, attestation_id: UUID, *, caller: Caller) -> tuple[AnyRow, Proofs, Head]:
        """The caller's attestation with issuer, key and entry, its proofs, and the head that proves them; for a bundle.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            store.owned(connection, attestation_id, tenant_id=caller.tenant_id)
            return self._evidence_for_bundle(connection, attestation_id)

    def evidence_for_anyone(self, attestation_id: UUID) -> tuple[AnyRow, Proofs, Head]:
        """The same for whoever knows the id, of any tenant; only the public page may hand it on.

        Raises:
            NotFound: there is no such attestation.
        """
        with self.storage.read() as connection:
            return self._evidence_for_bundle(connection, attestation_id)

    def _evidence_for_bundle(self, connection: Connection, attestation_id: UUID) -> tuple[AnyRow, Proofs, Head]:
        row = store.with_evidence(connection, attestation_id)
        if row is None:
            raise NotFound("attestation", attestation_id)
        return row, *proofs.of(connection, self.log, self.status_lists, row)
