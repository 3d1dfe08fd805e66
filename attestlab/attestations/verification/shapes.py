"""Wire models of a verification (SPEC, Verification response and Governance object; CONTRACT section 6)."""

from typing import Annotated, Literal

from attestlab.attestations.rules import Reason, Verdict
from attestlab.core.shapes import In, Out, Sha256Hex, Uuid, one_of
from attestlab.issuers.shapes import IssuerStatusName, RiskRatingName, TrustTierName

ReasonCode = Annotated[str, one_of(Reason)]


class VerifyIn(In, wire_name="verification_input", source="SPEC Verify"):
    """The attestation to verify, and the payload and document hash that the verifier holds."""

    attestation_id: Uuid
    """The attestation to verify. Format: UUID, 36 characters."""
    payload_b64url: str | None = None
    """The file that the verifier holds, to be compared with what was attested.
    Format: base64url, at most 52428800 characters.
    """
    document_hash_hex: Sha256Hex | None = None
    """Hash of the document that the verifier holds. Format: SHA-256, 64 hex digits."""
    verification_profile_id: Uuid | None = None
    """A verification profile of the caller's tenant, whose policies apply too. Format: UUID, 36 characters.
    Source: CONTRACT 9.
    """


class VerifyQuery(In, wire_name="verification_query", source="CONTRACT 6"):
    """Whether to follow a superseded attestation to its latest successor."""

    follow: Literal["latest"] | None = None
    """Adds the newest successor of a superseded attestation. Format: latest."""


class LogOut(Out, wire_name="verification_log", source="SPEC Verification response"):
    """Position of an attestation in the log, and whether its inclusion proof was verified."""

    log_id: str
    """The log. Format: the log's origin."""
    leaf_index: int
    """The index in the log. Format: from 0."""
    proof_checked: bool
    """Whether the inclusion proof was checked and held. Format: true or false."""


class GovernanceOut(Out, source="SPEC Governance object"):
    """The issuer's status and ratings now and at the mint (SPEC, Governance object)."""

    issuer_status: IssuerStatusName
    """The issuer's status now. Format: ACTIVE, SUSPENDED or REVOKED."""
    issuer_trust_tier: TrustTierName
    """How far its identity was proven, now. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
    issuer_risk_rating: RiskRatingName
    """Its risk rating now. Format: LOW, MEDIUM, HIGH or CRITICAL."""
    issuer_jurisdiction: str | None
    """Its jurisdiction now. Format: ISO 3166-1 alpha-2."""
    issuer_display_name: str | None
    """The display name. Format: text."""
    primary_color: str | None
    """The issuer's first colour. Format: #rrggbb."""
    accent_color: str | None
    """The issuer's second colour. Format: #rrggbb."""
    logo_url: str | None
    """The issuer's logo. Format: https URL."""
    snapshot_status: IssuerStatusName
    """The issuer's status at the mint. Format: ACTIVE, SUSPENDED or REVOKED."""
    snapshot_trust_tier: TrustTierName
    """Its trust tier at the mint. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
    snapshot_risk_rating: RiskRatingName
    """Its risk rating at the mint. Format: LOW, MEDIUM, HIGH or CRITICAL."""
    snapshot_jurisdiction: str | None
    """Its jurisdiction at the mint. Format: ISO 3166-1 alpha-2."""


class VerifyDetailsOut(Out, wire_name="verification_details", source="SPEC Verification response"):
    """The second documented shape of a verification response."""

    issuer_id: str
    """The issuer that attests. Format: UUID, 36 characters, or empty."""
    issuer_name: str
    """The issuer's name now. Format: text, or empty."""
    log_index: int | None
    """The index in the log; null if not found. Format: from 0."""


class VerificationOut(Out, wire_name="verification", source="SPEC Verification response"):
    """A verification of any record: exactly one verdict, and a reason code for every check that ran."""

    verdict: Verdict
    """The result of the verification.
    Format: VALID, ALTERED, REVOKED, SUPERSEDED, EXPIRED, INVALID, NOT_FOUND or UNKNOWN_ISSUER.
    """
    valid: bool
    """True only for VALID. Format: true or false."""
    reasons: list[ReasonCode]
    """A code for every check that ran, in order. Format: codes of CONTRACT 6."""
    issuer_id: str
    """The issuer that attests; empty if not found. Format: UUID, 36 characters, or empty."""
    kid: str
    """The key that signed; empty if not found. Format: 1-64 of A-Z a-z 0-9 . _ : -, or empty."""
    alg: str
    """The algorithm of that key; empty if not found. Format: an algorithm, or empty."""
    payload_hash: str
    """The stored hash of the payload. Format: base64url SHA-256, 43 characters, or empty."""
    document_hash: str
    """The stored hash of the document; empty if there is none. Format: SHA-256, 64 lowercase hex digits, or empty."""
    log: LogOut | None
    """Its place in the log; null if not found."""
    governance: GovernanceOut | None
    """The issuer's status, now and at the mint; null if not found."""
    details: VerifyDetailsOut
    """The second documented shape of the response."""


class VerifyOut(VerificationOut, wire_name="verification_response", source="SPEC Verification response"):
    """A verification of an attestation."""

    attestation_id: Uuid
    """The attestation in the request. Format: UUID, 36 characters."""
    superseded_by_attestation_id: Uuid | None = None
    """The next version, if the verdict is SUPERSEDED. Format: UUID, 36 characters."""
    latest_attestation_id: Uuid | None = None
    """The newest version, if the request has follow=latest. Format: UUID, 36 characters. Source: CONTRACT 6."""
