"""Results of the service for attestations: a mint, a verification, an export."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.lifecycle import StatusChanged
from attestlab.attestations.metering.service import MeteredVerification
from attestlab.attestations.policy_enforcement import PolicyDecisions
from attestlab.attestations.rules import Reason, SignedContent, Status, Verdict
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.log_proofs import LogProofs
from attestlab.attestations.verification.steps import StepResult, VerificationResult
from attestlab.log.results import SequencedEntry, SignedHead

Evidence = TypeVar("Evidence", bound=RecordEvidence, covariant=True)

NOT_FOUND = VerificationResult(
    Verdict.NOT_FOUND, (StepResult("resolve", (Reason.ATTESTATION_NOT_FOUND,), Verdict.NOT_FOUND),)
)


@dataclass(frozen=True)
class Minted:
    """A minted attestation; `logged` has proof and checkpoint once the transaction is sealed.

    `ended` is the attestation that it superseded, or None.
    """

    row: AttestationRecord = field(repr=False)
    logged: SequencedEntry
    warnings: tuple[str, ...]
    ended: StatusChanged | None = field(default=None, repr=False)

    @property
    def id(self) -> UUID:
        """The attestation's id."""
        return self.row.id


@dataclass(frozen=True)
class RecordVerification:
    """A found record to verify at a time: its stored parts, its content and its status, and who asked."""

    stored: RecordEvidence = field(repr=False)
    content: SignedContent = field(repr=False)
    status: Status
    client_address: str | None = field(repr=False)
    at: datetime


@dataclass(frozen=True)
class VerifiedRecord(Generic[Evidence]):
    """Result of a verification of a record, and the evidence that it used (None if there is no such record)."""

    record_id: UUID
    evidence: Evidence | None = field(repr=False)
    report: VerificationResult
    at: datetime
    policy_decisions: PolicyDecisions = field(default=(), repr=False)  # the caller must record them

    @property
    def attestation_id(self) -> UUID | None:
        """The id of an attestation; None for another record."""
        return None

    @property
    def receipt_id(self) -> UUID | None:
        """The id of a receipt; None for another record."""
        return None

    @property
    def verdict(self) -> Verdict:
        """The verdict of the verification."""
        return self.report.verdict

    @property
    def metered_verification(self) -> MeteredVerification:
        """The verification as the meter counts it, one unit of the issuer's tenant; requires that the record exists."""
        assert self.evidence is not None
        row = self.evidence.row
        return MeteredVerification(
            row.tenant_id,
            row.issuer_id,
            self.attestation_id,
            self.verdict,
            self.at,
            has_invalid_signature=Reason.SIGNATURE_INVALID in self.report.reasons,
            receipt_id=self.receipt_id,
        )


@dataclass(frozen=True)
class VerificationOutcome(VerifiedRecord[AttestationEvidence]):
    """Result of a verification of an attestation."""

    latest: UUID | None = None  # the last successor of a superseded attestation, if the caller asked for it

    @property
    def attestation_id(self) -> UUID:
        """The id of the attestation."""
        return self.record_id


@dataclass(frozen=True)
class Export:
    """The parts of a proof bundle, and the policy decisions about its export."""

    evidence: AttestationEvidence = field(repr=False)
    proofs: LogProofs = field(repr=False)
    head: SignedHead
    policy_decisions: PolicyDecisions
