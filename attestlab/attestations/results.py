"""Results of the service for attestations: a mint, a verification, an export."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from attestlab.attestations.evidence_queries import RecordEvidence, SignedRow
from attestlab.attestations.lifecycle import StatusChanged
from attestlab.attestations.metering.service import MeteredVerification
from attestlab.attestations.policy_enforcement import PolicyDecisions
from attestlab.attestations.rules import Reason, SignedContent, Status, Verdict
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.log_proofs import LogProofs
from attestlab.attestations.verification.steps import StepResult, VerificationResult
from attestlab.log.results import SequencedEntry, SignedHead

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


def build_metered(
    row: SignedRow,
    report: VerificationResult,
    at: datetime,
    *,
    attestation_id: UUID | None = None,
    receipt_id: UUID | None = None,
) -> MeteredVerification:
    """Build the verification of a record as the meter counts it: one unit of the issuer's tenant."""
    return MeteredVerification(
        row.tenant_id,
        row.issuer_id,
        attestation_id,
        report.verdict,
        at,
        has_invalid_signature=Reason.SIGNATURE_INVALID in report.reasons,
        receipt_id=receipt_id,
    )


@dataclass(frozen=True)
class VerificationOutcome:
    """Result of a verification, and the evidence that it used (None if there is no such attestation)."""

    attestation_id: UUID
    evidence: AttestationEvidence | None = field(repr=False)
    report: VerificationResult
    at: datetime
    latest: UUID | None = None  # the last successor of a superseded attestation, if the caller asked for it
    policy_decisions: PolicyDecisions = field(default=(), repr=False)  # the caller must record them

    @property
    def verdict(self) -> Verdict:
        """The verdict of the verification."""
        return self.report.verdict

    @property
    def metered_verification(self) -> MeteredVerification:
        """The verification as the meter counts it; requires that the attestation exists."""
        assert self.evidence is not None
        return build_metered(self.evidence.row, self.report, self.at, attestation_id=self.attestation_id)


@dataclass(frozen=True)
class Export:
    """The parts of a proof bundle, and the policy decisions about its export."""

    evidence: AttestationEvidence = field(repr=False)
    proofs: LogProofs = field(repr=False)
    head: SignedHead
    policy_decisions: PolicyDecisions
