"""Results of the service for attestations: a mint, a verification, an export."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from attestlab.attestations.lifecycle import StatusChanged
from attestlab.attestations.metering.service import MeteredVerification
from attestlab.attestations.policy_enforcement import PolicyDecisions
from attestlab.attestations.rules import Reason, Verdict
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
        attestation = self.evidence.attestation
        return MeteredVerification(
            attestation.tenant_id,
            attestation.issuer_id,
            attestation.id,
            self.verdict,
            self.at,
            has_invalid_signature=Reason.SIGNATURE_INVALID in self.report.reasons,
        )


@dataclass(frozen=True)
class Export:
    """The parts of a proof bundle, and the policy decisions about its export."""

    evidence: AttestationEvidence = field(repr=False)
    proofs: LogProofs = field(repr=False)
    head: SignedHead
    policy_decisions: PolicyDecisions
