"""Wire models of issuers and keys (SPEC, Governance object; CONTRACT section 4)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.shapes import In, Moment, Name, Out, ReasonText, Text, Uuid, omit_default, one_of
from attestlab.issuers.rules import Custody, IssuerStatus, KeyStatus, RiskRating, TrustTier

AlgorithmName = Annotated[str, one_of(Algorithm)]
KeyStatusName = Annotated[str, one_of(KeyStatus)]
CustodyName = Annotated[str, one_of(Custody)]
IssuerStatusName = Annotated[str, one_of(IssuerStatus)]
TrustTierName = Annotated[str, one_of(TrustTier)]
RiskRatingName = Annotated[str, one_of(RiskRating)]
# Longer than any public key, so that a pasted private key is recognised and rejected as such.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


class IssuerProfileIn(In, source="SPEC Governance object"):
    """Optional fields of an issuer's profile."""

    legal_name: Name | None = None
    """Its legal name. Format: text, 1-200 characters. Source: CONTRACT 4."""
    display_name: Name | None = None
    """The name on public pages. Format: text, 1-200 characters."""
    jurisdiction: Text | None = None
    """Its jurisdiction. Format: ISO 3166-1 alpha-2."""
    primary_color: Text | None = None
    """Its first colour. Format: #rrggbb."""
    accent_color: Text | None = None
    """Its second colour. Format: #rrggbb."""
    logo_url: Text | None = None
    """Its logo. Format: absolute https URL."""


class IssuerIn(IssuerProfileIn, source="SPEC Issuer"):
    """An issuer to register; with `alg` the service creates its first managed key."""

    name: Name
    """Its name. Format: text, 1-200 characters."""
    domain: Text
    """Its domain. Format: DNS name."""
    alg: Algorithm | None = None
    """The algorithm of a first key that the service generates.
    Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512. Source: CONTRACT 4.
    """
    kid: Text | None = None
    """The name of that key; by default one is chosen. Format: 1-64 of A-Z a-z 0-9 . _ : -. Source: CONTRACT 4."""

    def profile(self) -> dict[str, str | None]:
        """Return the profile's fields, without those of the key."""
        return self.model_dump(exclude={"alg", "kid"})


class IssuerPatch(IssuerProfileIn, source="CONTRACT 4"):
    """Changes of a profile; omitted fields stay, null removes a value."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    """Its new name. Format: text, 1-200 characters."""
    domain: Text = Field(default="", json_schema_extra=omit_default)
    """Its new domain. Format: DNS name."""

    def changes(self) -> dict[str, str | None]:
        """Return only the fields that the client sent."""
        return self.model_dump(exclude_unset=True)


class LogoIn(In, source="CONTRACT 4"):
    """A logo to upload: PNG, JPEG or WebP, at most 256 KiB; any other image is a 415."""

    content_b64url: Annotated[str, StringConstraints(min_length=1)]
    """The image: PNG, JPEG or WebP. Format: base64url, at most 256 KiB decoded."""


class LogoOut(Out, source="CONTRACT 4"):
    """An uploaded logo."""

    issuer_id: Uuid
    """The issuer. Format: UUID, 36 characters."""
    media_type: str
    """Its type, detected from its bytes. Format: image/png, image/jpeg, image/gif, image/webp or image/svg+xml."""
    size: int
    """Its size. Format: bytes."""
    sha256: str
    """Its hash. Format: SHA-256, 64 lowercase hex digits."""
    logo_url: str
    """The address of the logo. Format: absolute address."""


class KeyIn(In, source="CONTRACT 4"):
    """A key to add; without `public_key_b64url` the service generates and holds the pair."""

    kid: Text
    """The name of the key; unique in the tenant. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: Algorithm
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    public_key_b64url: KeyText | None = None
    """The public key of an external key; left out, the service generates and holds the pair.
    Format: base64url of the raw 32 bytes for Ed25519, or of DER SPKI.
    """
    status: Literal["active", "pending"] = Field(
        default="active", description="pending: prepared by the service, activated by a rotation to it."
    )
    """Pending: prepared by the service, activated by a rotation to it. Format: active or pending."""


class RotateIn(In, wire_name="rotation_input", source="SPEC Signing key"):
    """The key that replaces another; without a public key the service generates and holds the pair."""

    new_kid: Text
    """The name of the key that replaces it. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: Algorithm
    """Its algorithm, the same as that of the replaced key.
    Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512.
    """
    new_public_key_b64url: KeyText | None = None
    """The public key of an external or a pending key; left out, the service generates the pair.
    Format: base64url of the raw 32 bytes for Ed25519, or of DER SPKI.
    """


PublishedReason = Annotated[ReasonText, Field(description="Published in the log.")]


class RevokeKeyIn(In, wire_name="key_revocation_input", source="CONTRACT 4"):
    """Reason for the revocation of a key."""

    reason: PublishedReason
    """Why it is revoked; published in the log. Format: text, 1-1024 characters."""


class CompromiseKeyIn(In, wire_name="key_compromise_input", source="CONTRACT 4"):
    """Reason for a report of compromise, and the time since when others may have signed with the key, if known."""

    reason: PublishedReason
    """How it was compromised; published in the log. Format: text, 1-1024 characters."""
    compromised_at: Moment | None = None
    """Since when others may have signed with it, if known. Format: RFC 3339 date-time with an offset."""


class KeyOut(Out, source="SPEC Signing key"):
    """A signing key; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    """The key; unique in its tenant. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    issuer_id: Uuid
    """The issuer of the key. Format: UUID, 36 characters. Source: CONTRACT 4."""
    alg: AlgorithmName
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    public_key: str
    """The public key. Format: DER SubjectPublicKeyInfo, base64url. Source: CONTRACT 4."""
    status: KeyStatusName
    """Only an active key signs. Format: pending, active, rotated, revoked or compromised."""
    custody: CustodyName
    """Who holds the private key: the service (sealed), or the issuer alone. Format: managed or external.
    Source: CONTRACT 4.
    """
    created_at: Moment
    """When it was created or registered. Format: RFC 3339 date-time, UTC, milliseconds."""
    rotated_at: Moment | None = None
    """When another key replaced it. Format: RFC 3339 date-time, UTC, milliseconds."""
    revoked_at: Moment | None = None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 4."""
    compromised_at: Moment | None = None
    """Since when others have known it. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 4."""


class OldKeyOut(Out, source="SPEC Signing key"):
    """The key that was rotated."""

    kid: str
    """The key. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    status: KeyStatusName
    """Its new status. Format: rotated."""
    rotated_at: Moment
    """When it was rotated. Format: RFC 3339 date-time, UTC, milliseconds."""


class NewKeyOut(Out, wire_name="replacement_key", source="SPEC Signing key"):
    """The key that replaced it; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    """The key. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    status: KeyStatusName
    """Its status. Format: active."""
    alg: AlgorithmName
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    custody: CustodyName
    """Who holds the private key: the service, or the issuer alone. Format: managed or external. Source: CONTRACT 4."""
    public_key: str
    """The public key. Format: DER SubjectPublicKeyInfo, base64url. Source: CONTRACT 4."""
    created_at: Moment
    """When it was registered. Format: RFC 3339 date-time, UTC, milliseconds."""


class RotatedOut(Out, wire_name="rotation", source="SPEC Signing key"):
    """Both keys of a rotation."""

    old_key: OldKeyOut
    """The key that was rotated."""
    new_key: NewKeyOut
    """The key that replaced it."""


class WithdrawnKeyOut(KeyOut, source="CONTRACT 4"):
    """A revoked or compromised key; `log_index` is the log entry of the change."""

    reason: str
    """Why it was withdrawn; the public log contains it. Format: text, at most 1024 characters."""
    log_index: int
    """The log entry of the change. Format: from 0."""
    affected_attestations: int
    """The number of attestations that this key has signed; each is flagged or INVALID from now on. Format: from 0."""
    affected_receipts: int
    """The number of receipts that this key has signed; they fare as its attestations. Format: from 0."""


class IssuerOut(Out, source="SPEC Governance object"):
    """An issuer with its keys."""

    id: Uuid
    """The issuer. Format: UUID, 36 characters. Source: SPEC Issuer."""
    tenant_id: Uuid
    """The tenant of the issuer. Format: UUID, 36 characters. Source: CONTRACT 4."""
    name: str
    """Its name. Format: text, 1-200 characters. Source: SPEC Issuer."""
    domain: str
    """Its domain. Format: DNS name, lower case. Source: SPEC Issuer."""
    legal_name: str | None
    """Its legal name. Format: text, 1-200 characters. Source: CONTRACT 4."""
    status: IssuerStatusName
    """Whether it may mint. Format: ACTIVE, SUSPENDED or REVOKED. Source: CONTRACT 4."""
    trust_level: TrustTierName
    """The same as trust_tier. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE. Source: SPEC Issuer."""
    trust_tier: TrustTierName
    """How far its identity was proven. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
    risk_rating: RiskRatingName
    """CRITICAL may be suspended pending review. Format: LOW, MEDIUM, HIGH or CRITICAL."""
    jurisdiction: str | None
    """Its jurisdiction. Format: ISO 3166-1 alpha-2."""
    display_name: str | None
    """The display name. Format: text, 1-200 characters."""
    primary_color: str | None
    """Its first colour. Format: #rrggbb."""
    accent_color: str | None
    """Its second colour. Format: #rrggbb."""
    logo_url: str | None
    """Its logo. Format: https URL."""
    keys: list[KeyOut]
    """Its signing keys, oldest first. Source: CONTRACT 4."""
    created_at: Moment
    """When it was registered. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 4."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds. Source: CONTRACT 4."""


class JwksOut(Out, source="CONTRACT 4"):
    """A JSON Web Key Set (RFC 7517); `status` is an additive member of each key."""

    keys: list[dict[str, str]]
    """The public keys; status is an additive member. Format: JWK, RFC 7517."""


class DomainProofOut(Out, source="CONTRACT 4"):
    """The TXT record that proves control of an issuer's domain, and whether it was verified."""

    issuer_id: Uuid
    """The issuer. Format: UUID, 36 characters."""
    domain: str
    """The domain to be proven. Format: DNS name in lower case."""
    record_type: str
    """The type of the record. Format: TXT."""
    record_name: str
    """The name of the record to create. Format: DNS name, beginning with _attestlab-challenge.."""
    record_value: str
    """The content of the record; valid only for this issuer and this domain. Format: text."""
    proven: bool
    """Whether the record was found, even if the platform then decided on a lower tier. Format: true or false."""
    trust_tier: TrustTierName
    """The issuer's tier now. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""
