"""The eight steps of a verification (SPEC, `POST /v1/verify`), as pure functions over values.

Online, the evidence comes from the records; offline, from a bundle. The steps are
the same. Each step returns the reason codes of the checks that ran, and a verdict if it
ends the verification; later steps are then skipped. Step 1, result the attestation, is
the caller's task: these functions take its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from attestlab.attestations.rules import Reason, SignedContent, SignedStatement, Status, Verdict
from attestlab.core.crypto import jws
from attestlab.core.crypto.signing import PublicKey
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import ProofInvalid, SignatureInvalid
from attestlab.issuers.rules import IssuerStatus, KeyStatus


@dataclass(frozen=True, slots=True)
class IssuerFacts:
    """Current status of the issuer; `revoked_index` is the log entry that revoked it."""

    status: IssuerStatus
    revoked_index: int | None = None


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Current status of the signing key; `changed_index` is the log entry of its last change."""

    public: PublicKey
    status: KeyStatus
    changed_index: int | None = None
    compromised_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about one attestation or receipt, which the steps verify.

    `prove_logged` raises `ProofInvalid` unless the record is included in the log under a trusted tree head.
    """

    content: SignedContent
    signature: str = field(repr=False)
    status: Status
    log_index: int
    logged_at: datetime
    issuer: IssuerFacts | None
    key: KeyFacts | None
    prove_logged: Callable[[], None] = field(repr=False)

    @property
    def statement(self) -> SignedStatement:
        """The signed statement."""
        return self.content.statement


@dataclass(frozen=True, slots=True)
class VerifierInput:
    """Hashes of what the verifier holds: a payload's SHA-256 (32 bytes), a document's SHA-256 (hex)."""

    payload_sha256: bytes | None = None
    document_hash: str | None = None


class State(StrEnum):
    """Outcome of a step. OPEN: the evidence proves neither that the check holds nor that it fails.

    NOT_CHECKED: the verifier presented nothing to check, such as no document.
    """

    OK = "ok"
    FAILED = "failed"
    OPEN = "open"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class StepResult:
    """Result of one step; a verdict ends the verification."""

    step: str
    reasons: tuple[Reason, ...] = ()
    verdict: Verdict | None = None
    detail: str = ""
    is_open: bool = False
    is_checked: bool = True

    @property
    def state(self) -> State:
        """FAILED if the step ended the verification, OPEN if it could not decide, NOT_CHECKED without a check."""
        if self.verdict is not None:
            return State.FAILED
        if not self.is_checked:
            return State.NOT_CHECKED
        return State.OPEN if self.is_open else State.OK


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The verdict of a verification, and the results of the steps that led to it."""

    verdict: Verdict
    results: tuple[StepResult, ...]

    def __repr__(self) -> str:
        steps = ", ".join(f"{result.step} {result.state.value}" for result in self.results)
        return f"VerificationResult({self.verdict.value}: {steps})"

    @property
    def reasons(self) -> list[Reason]:
        """Reason codes of all checks that ran, in the order of the steps."""
        return [reason for result in self.results for reason in result.reasons]

    @property
    def proof_checked(self) -> bool:
        """Whether the log proof was verified successfully."""
        return Reason.TRANSPARENCY_PROOF_OK in self.reasons


Step = Callable[[], StepResult]


def verify(
    evidence: Evidence, presented: VerifierInput, *, now: datetime, policies_allow: Callable[[], bool]
) -> VerificationResult:
    """Run the eight steps until one of them ends the verification; step 1 (resolve) is already done.

    `policies_allow` evaluates the applicable policies; it is called only if all other steps pass.
    """
    steps: tuple[Step, ...] = (
        lambda: StepResult("resolve"),
        lambda: check_content(evidence, presented),
        lambda: check_status(evidence, now),
        lambda: check_governance(evidence),
        lambda: check_key(evidence),
        lambda: check_signature(evidence),
        lambda: check_transparency(evidence),
        lambda: check_policy(policies_allow),
    )
    return run_steps(steps)


def run_steps(steps: Iterable[Step]) -> VerificationResult:
    """Run the steps in order until one returns a verdict; if none does, the verdict is VALID."""
    results: list[StepResult] = []
    for step in steps:
        results.append(step())
        if (verdict := results[-1].verdict) is not None:
            return VerificationResult(verdict, tuple(results))
    return VerificationResult(Verdict.VALID, tuple(results))


def check_content(evidence: Evidence, presented: VerifierInput) -> StepResult:
    """Step 2: compare the verifier's payload and document with the attested hashes; they outlive a redaction."""
    reasons = []
    if presented.payload_sha256 is not None:
        same = b64url_encode(presented.payload_sha256) == evidence.statement.payload_hash
        reasons.append(Reason.PAYLOAD_HASH_OK if same else Reason.PAYLOAD_HASH_MISMATCH)
    if presented.document_hash is not None:
        reasons.append(_compare_document_hash(evidence.statement.document_hash, presented.document_hash))
    altered = Reason.PAYLOAD_HASH_MISMATCH in reasons or Reason.DOCUMENT_HASH_MISMATCH in reasons
    is_open = Reason.DOCUMENT_HASH_NOT_STORED in reasons
    verdict = Verdict.ALTERED if altered else None
    is_checked = bool(reasons)
    if evidence.content.is_redacted:
        reasons.append(Reason.PAYLOAD_REDACTED)
    return StepResult("content", tuple(reasons), verdict, is_open=is_open, is_checked=is_checked)


def _compare_document_hash(attested: str | None, presented: str) -> Reason:
    if attested is None:
        return Reason.DOCUMENT_HASH_NOT_STORED
    return Reason.DOCUMENT_HASH_OK if attested == presented.lower() else Reason.DOCUMENT_HASH_MISMATCH


_FINAL = {
    Status.REVOKED: (Reason.ATTESTATION_REVOKED, Verdict.REVOKED),
    Status.SUPERSEDED: (Reason.ATTESTATION_SUPERSEDED, Verdict.SUPERSEDED),
    Status.EXPIRED: (Reason.ATTESTATION_EXPIRED, Verdict.EXPIRED),
}


def check_status(evidence: Evidence, now: datetime) -> StepResult:
    """Step 3: end the verification of a revoked, superseded or expired attestation."""
    expiry_at = evidence.statement.expiry_at
    expired = evidence.status is Status.VALID and expiry_at is not None and expiry_at <= now
    status = Status.EXPIRED if expired else evidence.status
    if status is Status.VALID:
        return StepResult("status", (Reason.STATUS_CURRENT,))
    reason, verdict = _FINAL[status]
    return StepResult("status", (reason,), verdict)


def check_governance(evidence: Evidence) -> StepResult:
    """Step 4: check the issuer's current status.

    Attestations that precede the issuer's revocation in the log stay valid and are flagged.
    """
    issuer = evidence.issuer
    if issuer is None:
        return StepResult("governance", (Reason.ISSUER_UNKNOWN,), Verdict.UNKNOWN_ISSUER)
    if issuer.status is IssuerStatus.ACTIVE:
        return StepResult("governance", (Reason.GOVERNANCE_OK,))
    if issuer.status is IssuerStatus.SUSPENDED:
        return StepResult("governance", (Reason.ISSUER_SUSPENDED,))
    before = issuer.revoked_index is not None and evidence.log_index < issuer.revoked_index
    return StepResult("governance", (Reason.ISSUER_REVOKED,), None if before else Verdict.INVALID)


def check_key(evidence: Evidence) -> StepResult:
    """Step 5: check the signing key's status; a later revocation or compromise counts by the order of the log."""
    key = evidence.key
    if key is None:
        return StepResult("key", (Reason.KEY_NOT_FOUND,), Verdict.INVALID)
    if key.status is KeyStatus.ACTIVE:
        return StepResult("key")
    if key.status is KeyStatus.ROTATED:
        return StepResult("key", (Reason.KEY_ROTATED,))
    reason = Reason.KEY_COMPROMISED if key.status is KeyStatus.COMPROMISED else Reason.KEY_REVOKED
    if key.status in (KeyStatus.COMPROMISED, KeyStatus.REVOKED) and _is_logged_before(evidence, key):
        return StepResult("key", (reason,))
    return StepResult("key", (reason,), Verdict.INVALID)


def _is_logged_before(evidence: Evidence, key: KeyFacts) -> bool:
    if key.compromised_at is not None:
        return evidence.logged_at < key.compromised_at
    return key.changed_index is not None and evidence.log_index < key.changed_index


def check_signature(evidence: Evidence) -> StepResult:
    """Step 6: verify the issuer's signature over the statement, and the content against the signed hashes."""
    statement, key = evidence.statement, evidence.key
    if key is None:
        return StepResult("signature", (Reason.KEY_NOT_FOUND,), Verdict.INVALID)
    try:
        evidence.content.require_hashes()
        jws.verify_compact(
            statement.alg, key.public, evidence.signature, kid=statement.kid, payload=statement.canonical()
        )
    except SignatureInvalid as error:
        return StepResult("signature", (Reason.SIGNATURE_INVALID,), Verdict.INVALID, error.message)
    return StepResult("signature", (Reason.SIGNATURE_OK,))


def check_transparency(evidence: Evidence) -> StepResult:
    """Step 7: verify that the log entry commits to this attestation and is included in the log."""
    try:
        evidence.prove_logged()
    except (ProofInvalid, SignatureInvalid) as error:
        return StepResult("transparency", (Reason.TRANSPARENCY_PROOF_FAILED,), Verdict.INVALID, error.message)
    return StepResult("transparency", (Reason.TRANSPARENCY_PROOF_OK,))


def check_policy(policies_allow: Callable[[], bool]) -> StepResult:
    """Step 8: evaluate the applicable policies."""
    if policies_allow():
        return StepResult("policy", (Reason.POLICY_OK,))
    return StepResult("policy", (Reason.POLICY_DENIED,), Verdict.INVALID)
