"""What goes over the wire about issuers and keys (SPEC, Governance object; CONTRACT section 4)."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.shapes import In, Moment, Out, Uuid, omit_default

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
# Longer than any public key, so that a pasted private key is recognised and named as one.
KeyText = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]


class IssuerProfileIn(In):
    """The parts of an issuer's profile that may be left out."""

    legal_name: Name | None = None
    display_name: Name | None = None
    jurisdiction: Text | None = Field(default=None, description="ISO 3166-1 alpha-2")
    primary_color: Text | None = Field(default=None, description="#rrggbb")
    accent_color: Text | None = Field(default=None, description="#rrggbb")
    logo_url: Text | None = Field(default=None, description="absolute https address")


class IssuerIn(IssuerProfileIn):
    """An issuer to be registered; with `alg` the service makes its first managed key."""

    name: Name
    domain: Text
    alg: Algorithm | None = None
    kid: Text | None = None

    def profile(self) -> dict[str, str | None]:
        """What becomes the issuer's row."""
        return self.model_dump(exclude={"alg", "kid"})


class IssuerPatch(IssuerProfileIn):
    """Changes of a profile; what is left out stays, null takes a value away."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    domain: Text = Field(default="", json_schema_extra=omit_default)

    def changes(self) -> dict[str, str | None]:
        """Only what was sent."""
        return self.model_dump(exclude_unset=True)


class LogoIn(In):
    """An image: PNG, JPEG, GIF, WebP, or an SVG that does nothing but draw; at most 256 KiB."""

    content_b64url: Annotated[str, StringConstraints(min_length=1)]


class LogoOut(Out):
    """An uploaded logo."""

    issuer_id: Uuid
    media_type: str
    size: int
    sha256: str
    logo_url: str


class KeyIn(In):
    """A key to be added; without `public_key_b64url` the service makes and holds the pair."""

    kid: Text
    alg: Algorithm
    public_key_b64url: KeyText | None = Field(default=None, description="raw 32 bytes for Ed25519, or DER SPKI")
    status: Literal["active", "pending"] = Field(
        default="active", description="pending: prepared by the service, to be rotated to."
    )


class RotateIn(In):
    """The key that takes the place of another; without a public half the service makes and holds the pair."""

    new_kid: Text
    alg: Algorithm
    new_public_key_b64url: KeyText | None = Field(default=None, description="raw 32 bytes for Ed25519, or DER SPKI")


Reason = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1024),
    Field(description="Stands in the public log."),
]


class RevokeKeyIn(In):
    """Why a key is withdrawn."""

    reason: Reason


class CompromiseKeyIn(In):
    """Why a key is reported, and since when others may have signed with it, if that is known."""

    reason: Reason
    compromised_at: Moment | None = None


class KeyOut(Out):
    """A signing key; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    issuer_id: Uuid
    alg: str
    public_key: str
    status: str
    custody: str
    created_at: Moment
    rotated_at: Moment | None = None
    revoked_at: Moment | None = None
    compromised_at: Moment | None = None


class OldKeyOut(Out):
    """The key that was rotated."""

    kid: str
    status: str
    rotated_at: Moment


class NewKeyOut(Out):
    """The key that took its place; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    status: str
    alg: str
    custody: str
    public_key: str
    created_at: Moment


class RotatedOut(Out):
    """Both keys of a rotation."""

    old_key: OldKeyOut
    new_key: NewKeyOut


class WithdrawnKeyOut(KeyOut):
    """A key that is withdrawn; `log_index` says where the log tells of it."""

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
    status: str
    trust_level: str
    trust_tier: str
    risk_rating: str
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

    keys: list[dict[str, Any]]


class DomainProofOut(Out):
    """What proves that an issuer holds its domain, and whether it was found."""

    issuer_id: Uuid
    domain: str
    record_type: str
    record_name: str
    record_value: str
    proven: bool
    trust_tier: str
