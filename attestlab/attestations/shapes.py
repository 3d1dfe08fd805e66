"""Wire models of attestations (SPEC, Resources; CONTRACT section 5)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, JsonValue, StrictBool, StringConstraints
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from attestlab.attestations.proof_shapes import LogEntryOut, ProofOut, StatusProofOut, TreeHeadOut
from attestlab.attestations.rules import Status
from attestlab.attestations.schemas.catalogue import CATALOGUE, ContentType
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import Email, In, Moment, Out, SecretText, Sha256Hex, Uuid, one_of
from attestlab.issuers.shapes import AlgorithmName, CustodyName, TrustTierName
from attestlab.web.paging import OffsetPageQuery
from attestlab.web.problems import ErrorEnvelope

Kid = Annotated[str, StringConstraints(min_length=1, max_length=64)]


def _require_known_schema(name: str) -> str:
    if name not in CATALOGUE:
        raise ValueError("unknown schema; GET /v1/schemas lists the valid ones")
    return name


SchemaId = Annotated[str, one_of(CATALOGUE)]
KnownSchema = Annotated[SchemaId, AfterValidator(_require_known_schema)]
ContentTypeName = Annotated[str, one_of(ContentType)]


class MintIn(In, source="SPEC Mint"):
    """An attestation to mint."""

    issuer_id: Uuid
    """The issuer that attests; it must be ACTIVE. Format: UUID, 36 characters."""
    kid: Kid
    """The issuer's key that signs; it must be active. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: Algorithm
    """The algorithm of that key. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    schema_id: SchemaId = Field(alias="schema")
    """The schema of the claims. Format: a schema id of the catalogue."""
    claims: dict[str, JsonValue]
    """What is attested; the schema's first claim is required and further claims are kept.
    Format: JSON Schema at GET /v1/schemas/{id}.
    """
    recipient_email: Email | None = None
    """Who gets a notification with the link; an unknown recipient is invited. Format: e-mail address."""
    document_hash: str | None = None
    """Hash of the original file, where the file itself is not sent. Format: SHA-256, 64 lowercase hex digits.
    Source: SPEC Document hash.
    """
    payload_b64url: str | None = None
    """The file; the service stores only its hash and size. Format: base64url, at most 52428800 characters."""
    pack_id: Uuid | None = None
    """The verification pack to add the attestation to. Format: UUID, 36 characters. Source: CONTRACT 5."""
    content_type: ContentType = ContentType.JSON
    """The type of the file. Format: a MIME type of the content type list."""
    expiry_at: Moment | None = None
    """From this moment on the attestation is EXPIRED. Format: RFC 3339 date-time with an offset, in the future.
    Source: CONTRACT 5.
    """
    expiry_from_claims: StrictBool = False
    """Takes the expiry from the claims expiry_date or valid_to, at the end of that day in UTC. Format: true or false.
    Source: CONTRACT 5.
    """
    subject_reference: Annotated[str, StringConstraints(max_length=256)] | None = None
    """The caller's own name for the subject; not signed. Format: text, at most 256 characters. Source: CONTRACT 5."""
    metadata: dict[str, JsonValue] | None = None
    """The caller's own data; not signed. Format: JSON, at most 16 KB. Source: CONTRACT 5."""
    id: Uuid | None = None
    """External keys: the id that was signed. Format: UUID, 36 characters. Source: CONTRACT 5."""
    created_at: Moment | None = None
    """External keys: the time that was signed. Format: RFC 3339 date-time with an offset. Source: CONTRACT 5."""
    signature: str | None = None
    """External keys: the signature. Format: compact JWS, RFC 7515. Source: CONTRACT 5."""


class SupersedeIn(MintIn, source="CONTRACT 5"):
    """An attestation that replaces another; without `issuer_id` its issuer is that of the replaced one."""

    issuer_id: Uuid | None = None  # type: ignore[assignment]  # required in a mint, optional here
    """The issuer; by default that of the replaced attestation. Format: UUID, 36 characters."""


class RevokeIn(In, wire_name="revocation_input", source="CONTRACT 5"):
    """Reason for a revocation; the log contains only a commitment to it."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
    """Why it is revoked; the log contains only a commitment to it. Format: text, 1-1024 characters."""


class RevokedOut(Out, wire_name="revocation", source="CONTRACT 5"):
    """A revocation; `log_index` is its log entry."""

    id: Uuid
    """The attestation. Format: UUID, 36 characters."""
    attestation_id: Uuid
    """The same as id. Format: UUID, 36 characters."""
    status: Status
    """The new status. Format: REVOKED."""
    revoked_at: Moment
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds."""
    revocation_reason: str
    """Why it was revoked. Format: text, at most 1024 characters."""
    log_index: int
    """The log entry of the revocation. Format: from 0."""


class MintOut(Out, wire_name="mint_response", source="CONTRACT 5"):
    """A minted attestation with its proof of inclusion in the log."""

    id: Uuid
    """The attestation. Format: UUID, 36 characters. Source: SPEC Mint response."""
    attestation_id: Uuid
    """The same as id. Format: UUID, 36 characters."""
    issuer_id: Uuid
    """The issuer that attests. Format: UUID, 36 characters. Source: SPEC Mint response."""
    kid: str
    """The key that signed. Format: 1-64 of A-Z a-z 0-9 . _ : -. Source: SPEC Mint response."""
    alg: AlgorithmName
    """The algorithm of that key. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    schema_id: SchemaId = Field(serialization_alias="schema")
    """The schema of the claims in the payload. Format: a schema id of the catalogue."""
    status: Status
    """The status at creation. Format: VALID. Source: SPEC Mint response."""
    log_index: int
    """The index of the attestation in the log. Format: from 0. Source: SPEC Mint response."""
    payload_hash: str
    """Hash of the payload's bytes. Format: base64url SHA-256, 43 characters."""
    document_hash: str | None
    """Hash of the original file. Format: SHA-256, 64 lowercase hex digits."""
    expiry_at: Moment | None
    """When it expires. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: Moment
    """When it was minted. Format: RFC 3339 date-time, UTC, milliseconds. Source: SPEC Mint response."""
    verify_url: str
    """The public page, which shows the verdict to anyone. Format: URL."""
    share_url: SecretText
    """The public page with the key; it also shows the claims and offers the bundle. Format: URL."""
    inclusion_proof: ProofOut
    """Proof that it is in the log."""
    checkpoint: str
    """The signed tree head that the proof leads to. Format: C2SP signed note, text."""
    warnings: list[str]
    """Values that were accepted, but may not be intended. Format: text."""


class AttestationOut(Out, source="CONTRACT 5"):
    """An attestation with its current status."""

    id: Uuid
    """The attestation. Format: UUID, 36 characters. Source: SPEC Attestation."""
    attestation_id: Uuid
    """The same as id. Format: UUID, 36 characters."""
    issuer_id: Uuid
    """The issuer that attests. Format: UUID, 36 characters. Source: SPEC Attestation."""
    kid: str
    """The key that signed. Format: 1-64 of A-Z a-z 0-9 . _ : -. Source: SPEC Attestation."""
    alg: AlgorithmName
    """The algorithm of that key. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    status: Status
    """The status at the time of the response. Format: VALID, REVOKED, SUPERSEDED or EXPIRED. Source: SPEC Attestation.
    """
    schema_id: SchemaId = Field(serialization_alias="schema")
    """The schema of the claims in the payload. Format: a schema id of the catalogue."""
    content_type: ContentTypeName
    """The type of the attested file. Format: a MIME type of the content type list."""
    payload: dict[str, JsonValue]
    """The attested data; the file itself is never stored. Format: schema and claims. Source: SPEC Attestation."""
    payload_hash: str
    """Hash of the payload's bytes: of the file in the request, otherwise of the payload as RFC 8785 canonical JSON.
    Format: base64url SHA-256, 43 characters.
    """
    document_hash: str | None
    """Hash of the original file; null if unknown. Format: SHA-256, 64 lowercase hex digits. Source: SPEC Document hash.
    """
    signature: str
    """The issuer's signature over the statement. Format: compact JWS, RFC 7515. Source: SPEC Attestation."""
    custody: CustodyName
    """Who holds the private key: the service, or the issuer alone. Format: managed or external."""
    log_index: int
    """The index of the attestation in the log. Format: from 0. Source: SPEC Attestation."""
    expiry_at: Moment | None
    """From this moment on the attestation is EXPIRED; null if it does not expire.
    Format: RFC 3339 date-time, UTC, milliseconds. Source: SPEC Attestation.
    """
    superseded_by_attestation_id: Uuid | None
    """The attestation that replaced it. Format: UUID, 36 characters."""
    revocation_reason: str | None
    """Why it was revoked. Format: text."""
    revoked_at: Moment | None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds."""
    status_log_index: int | None
    """The log entry of its final status; null while it has none. Format: from 0. Source: CONTRACT 7."""
    supersedes_attestation_id: Uuid | None
    """The attestation that it replaced. Format: UUID, 36 characters."""
    pack_id: Uuid | None
    """The verification pack it belongs to. Format: UUID, 36 characters."""
    subject_reference: str | None
    """The caller's own name for the subject; not signed. Format: text, at most 256 characters."""
    metadata: dict[str, JsonValue] | None
    """The caller's own data about it; not signed. Format: JSON, at most 16 KB."""
    created_at: Moment
    """When it was minted. Format: RFC 3339 date-time, UTC, milliseconds. Source: SPEC Attestation."""


class AttestationsQuery(OffsetPageQuery, Filters, source="CONTRACT 5"):
    """Filters of the list of attestations; `from` is inclusive, `to` exclusive."""

    issuer_id: Annotated[Uuid | None, Where("issuer_id")] = None
    """Only attestations of this issuer. Format: UUID, 36 characters."""
    status: Annotated[Status | None, NO_CONDITION] = None  # the store's: VALID and EXPIRED depend on the time
    """Only attestations with this status now. Format: VALID, REVOKED, SUPERSEDED or EXPIRED."""
    schema_id: Annotated[KnownSchema | None, Where("schema_id")] = Field(default=None, alias="schema")
    """Only attestations with this schema. Format: a schema id of the catalogue."""
    kid: Annotated[str | None, Where("kid")] = None
    """Only attestations that this key signed. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    document_hash: Annotated[Sha256Hex | None, Where("document_hash")] = None
    """Only attestations of this document. Format: SHA-256, 64 hex digits."""
    pack_id: Annotated[Uuid | None, Where("pack_id")] = None
    """Only attestations of this pack. Format: UUID, 36 characters."""
    since: Annotated[Moment | None, Where("created_at", ">=")] = Field(default=None, alias="from")
    """Only attestations minted at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, Where("created_at", "<")] = Field(default=None, alias="to")
    """Only attestations minted before this moment. Format: RFC 3339 date-time with an offset."""


class SupersededOut(Out, wire_name="supersession", source="CONTRACT 5"):
    """A supersession: the old attestation with its new status, and the new one with its proof."""

    old: AttestationOut
    """The attestation that was superseded."""
    new: MintOut
    """The attestation that replaced it."""


class BundleIssuerOut(Out, source="SPEC Issuer"):
    """The issuer of a bundle's attestation; for display, not part of the proof."""

    id: Uuid
    """The issuer. Format: UUID, 36 characters."""
    name: str
    """Its name. Format: text."""
    domain: str
    """Its domain. Format: DNS name."""
    trust_level: TrustTierName
    """Its trust tier. Format: SELF_SIGNED, BASIC, VERIFIED or ENTERPRISE."""


class BundleKeyOut(Out, source="SPEC Proof bundle"):
    """The signing key; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    """The key. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    algorithm: AlgorithmName
    """Its algorithm. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    public_key: str
    """The public key. Format: DER SubjectPublicKeyInfo, base64url."""


class BundleOut(Out, wire_name="proof_bundle", source="SPEC Proof bundle"):
    """Everything needed to verify an attestation offline."""

    format: Literal["attestlab-bundle/1"]
    """The format; a verifier that does not know it cannot check the bundle. Format: attestlab-bundle/1.
    Source: CONTRACT 7.
    """
    attestation: AttestationOut
    """The attestation; with key.algorithm it gives the signed statement."""
    issuer: BundleIssuerOut
    """The issuer, for human readers; the log has the digest of name and domain."""
    key: BundleKeyOut
    """The public key; the log entry contains its hash."""
    inclusion_proof: ProofOut
    """The path from the entry to the root."""
    signed_tree_head: TreeHeadOut
    """The head that the path leads to."""
    log_entry: LogEntryOut
    """The entry's bytes, and the nonce that opens its commitment. Source: CONTRACT 7."""
    status_proof: StatusProofOut
    """The status of the attestation, its key and its issuer, proven by entries of the log. Source: CONTRACT 7."""
    tlog_proof: str
    """The same proof in a standard form that other tools read. Format: C2SP tlog-proof, text. Source: CONTRACT 7."""


class PackIn(In, wire_name="attestation_pack_input", source="CONTRACT 5"):
    """A verification pack to create."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    """Its name. Format: text, 1-200 characters."""
    description: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None
    """Its purpose. Format: text, 1-2048 characters."""


class PackOut(Out, wire_name="attestation_pack", source="CONTRACT 5"):
    """A verification pack: a group of related attestations."""

    id: Uuid
    """The verification pack. Format: UUID, 36 characters."""
    name: str
    """Its name, for people. Format: one line of at most 200 characters."""
    description: str | None
    """A description of its contents. Format: text, at most 2048 characters."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""


class _MintItem:
    """Describes each batch item as a mint body in OpenAPI, though items are validated one by one.

    So an invalid item fails alone, and not the whole batch.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(MintIn.__pydantic_core_schema__)


_Item = Annotated[object, _MintItem]


class BatchIn(In, wire_name="mint_batch_input", source="CONTRACT 5"):
    """Up to a hundred attestations to mint in one append to the log; each succeeds or fails separately."""

    items: Annotated[list[_Item], Field(min_length=1, max_length=100)]
    """The attestations to mint; an invalid one fails alone. Format: 1-100."""


class BatchItemOut(Out, wire_name="mint_batch_item", source="CONTRACT 5"):
    """Result of one item of a batch: the attestation or an error."""

    index: int
    """The position of the item in the request. Format: from 0."""
    http_status: int
    """The status that a single mint would have had. Format: 201, or that of the error."""
    attestation: MintOut | None = Field(default=None, exclude_if=lambda value: value is None)
    """The minted attestation. Format: left out of a rejected item."""
    error: ErrorEnvelope | None = Field(default=None, exclude_if=lambda value: value is None)
    """Why the item was rejected. Format: left out of a minted item."""


class BatchOut(Out, wire_name="mint_batch", source="CONTRACT 5"):
    """Results of a batch, in the order of the request's items."""

    items: list[BatchItemOut]
    """The results, in the order of the request."""


class SchemaOut(Out, wire_name="claim_schema", source="CONTRACT 5"):
    """A schema of the catalogue."""

    id: str
    """The schema. Format: a schema id of the catalogue."""
    json_schema: dict[str, JsonValue] = Field(serialization_alias="schema")
    """The schema of the claims. Format: JSON Schema 2020-12."""
