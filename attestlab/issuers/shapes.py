"""Wire models of issuers and keys (SPEC, Governance object; CONTRACT section 4)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.shapes import In, Moment, Out, Uuid, omit_default, one_of
from attestlab.issuers.rules import Custody, IssuerStatus, KeyStatus, RiskRating, TrustTier

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
AlgorithmName = Annotated[str, one_of(Algorithm)]
KeyStatusName = Annotated[str, one_of(KeyStatus)]
CustodyName = Annotated[str, one_of(Custody)]
IssuerStatusName = Annotated[str, one_of(IssuerStatus)]
TrustTierName = Annotated[str, one_of(TrustTier)]
RiskRatingName = Annotated[str, one_of(RiskRating)]
# Longer than any public key, so that a pasted private key is recognised and rejected as such.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


class IssuerProfileIn(In):
    """Optional fields of an issuer's profile."""

    legal_name: Name | None = None
    display_name: Name | None = None
    jurisdiction: Text | None = Field(default=None, description="ISO 3166-1 alpha-2")
    primary_color: Text | None = Field(default=None, description="#rrggbb")
    accent_color: Text | None = Field(default=None, description="#rrggbb")
    logo_url: Text | None = Field(default=None, description="absolute https address")


class IssuerIn(IssuerProfileIn):
    """An issuer to register; with `alg` the service creates its first managed key."""

    name: Name
    domain: Text
    alg: Algorithm | None = None
    kid: Text | None = None

    def profile(self) -> dict[str, str | None]:
        """Return the profile's fields, without those of the key."""
        return self.model_dump(exclude={"alg", "kid"})


class IssuerPatch(IssuerProfileIn):
    """Changes of a profile; omitted fields stay, null removes a value."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    domain: Text = Field(default="", json_schema_extra=omit_default)

    def changes(self) -> dict[str, str | None]:
        """Return only the fields that the client sent."""
        return self.model_dump(exclude_unset=True)


class LogoIn(In):
    """A logo to upload: PNG, JPEG or WebP, at most 256 KiB; any other image is a 415."""

    content_b64url: Annotated[str, StringConstraints(min_length=1)]


class LogoOut(Out):
    """An uploaded logo."""

    issuer_id: Uuid
    media_type: str
    size: int
    sha256: str
    logo_url: str


class KeyIn(In):
    """A key to add; without `public_key_b64url` the service generates and holds the pair."""

    kid: Text
    alg: Algorithm
    public_key_b64url: KeyText | None = Field(default=None, description="raw 32 bytes for Ed25519, or DER SPKI")
    status: Literal["active", "pending"] = Field(
        default="active", description="pending: prepared by the service, activated by a rotation to it."
    )


class RotateIn(In):
    """The key that replaces another; without a public key the service generates and holds the pair."""

    new_kid: Text
    alg: Algorithm
    new_public_key_b64url: KeyText | None = Field(default=None, description="raw 32 bytes for Ed25519, or DER SPKI")


Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1024),
    Field(description="Published in the log."),
]


class RevokeKeyIn(In):
    """Reason for the revocation of a key."""

    reason: Reason


class CompromiseKeyIn(In):
    """Reason for a report of compromise, and the time since when others may have signed with the key, if known."""

    reason: Reason
    compromised_at: Moment | None = None


class KeyOut(Out):
    """A signing key; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    issuer_id: Uuid
    alg: AlgorithmName
    public_key: str
    status: KeyStatusName
    custody: CustodyName
    created_at: Moment
    rotated_at: Moment | None = None
    revoked_at: Moment | None = None
    compromised_at: Moment | None = None


class OldKeyOut(Out):
    """The key that was rotated."""

    kid: str
    status: KeyStatusName
    rotated_at: Moment


class NewKeyOut(Out):
    """The key that replaced it; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    status: KeyStatusName
    alg: AlgorithmName
    custody: CustodyName
    public_key: str
    created_at: Moment


class RotatedOut(Out):
    """Both keys of a rotation."""

    old_key: OldKeyOut
    new_key: NewKeyOut


class WithdrawnKeyOut(KeyOut):
    """A revoked or compromised key; `log_index` is the log entry of the change."""

    reason: str
    log_index: int
    affected_attestations: int


class IssuerOut(Out):
    """An issuer with its keys."""

    id: Uuid
    tenant_id: Uuid
    name: str
    domain: str
    legal_name: str | None
    status: IssuerStatusName
    trust_level: TrustTierName
    trust_tier: TrustTierName
    risk_rating: RiskRatingName
    jurisdiction: str | None
    display_name: str | None
    primary_color: str | None
    accent_color: str | None
    logo_url: str | None
    keys: list[KeyOut]
    created_at: Moment
    updated_at: Moment


class JwksOut(Out):
    """A JSON Web Key Set (RFC 7517); `status` is an additive member of each key."""

    keys: list[dict[str, str]]


class DomainProofOut(Out):
    """The TXT record that proves control of an issuer's domain, and whether it was verified."""

    issuer_id: Uuid
    domain: str
    record_type: str
    record_name: str
    record_value: str
    proven: bool
    trust_tier: TrustTierName
