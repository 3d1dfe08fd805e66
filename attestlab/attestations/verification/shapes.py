"""Wire models of a verification (SPEC, Verification response and Governance object; CONTRACT section 6)."""

from typing import Annotated, Literal

from attestlab.attestations.rules import Reason, Verdict
from attestlab.core.shapes import In, Out, Sha256Hex, Uuid, one_of
from attestlab.issuers.shapes import IssuerStatusName, RiskRatingName, TrustTierName

ReasonCode = Annotated[str, one_of(Reason)]


class VerifyIn(In):
    """The attestation to verify, and the payload and document hash that the verifier holds."""

    attestation_id: Uuid
    payload_b64url: str | None = None
    document_hash_hex: Sha256Hex | None = None
    verification_profile_id: Uuid | None = None


class VerifyQuery(In):
    """Whether to follow a superseded attestation to its latest successor."""

    follow: Literal["latest"] | None = None


class LogOut(Out):
    """Position of an attestation in the log, and whether its inclusion proof was verified."""

    log_id: str
    leaf_index: int
    proof_checked: bool


class GovernanceOut(Out):
    """The issuer's status and ratings now and at the mint (SPEC, Governance object)."""

    issuer_status: IssuerStatusName
    issuer_trust_tier: TrustTierName
    issuer_risk_rating: RiskRatingName
    issuer_jurisdiction: str | None
    issuer_display_name: str | None
    primary_color: str | None
    accent_color: str | None
    logo_url: str | None
    snapshot_status: IssuerStatusName
    snapshot_trust_tier: TrustTierName
    snapshot_risk_rating: RiskRatingName
    snapshot_jurisdiction: str | None


class VerifyDetailsOut(Out):
    """The second documented shape of a verification response."""

    issuer_id: str
    issuer_name: str
    log_index: int | None


class VerifyOut(Out):
    """A verification: exactly one verdict, and a reason code for every check that ran."""

    verdict: Verdict
    valid: bool
    reasons: list[ReasonCode]
    attestation_id: Uuid
    issuer_id: str
    kid: str
    alg: str
    payload_hash: str
    document_hash: str
    log: LogOut | None
    governance: GovernanceOut | None
    superseded_by_attestation_id: Uuid | None = None
    latest_attestation_id: Uuid | None = None
    details: VerifyDetailsOut
