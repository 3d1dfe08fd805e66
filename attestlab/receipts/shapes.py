"""Wire models of receipts (CONTRACT 11.5)."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints

from attestlab.attestations.proof_shapes import LogEntryOut, LoggedOut, ProofOut, StatusChainsOut, TreeHeadOut
from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.attestations.shapes import BundleIssuerOut, BundleKeyOut, Kid
from attestlab.attestations.verification.shapes import VerificationOut
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.issuers.shapes import AlgorithmName
from attestlab.receipts.rules import SUBJECT_LIMIT_CHARS, RetentionPolicy
from attestlab.receipts.types.shapes import ReceiptReason, TypeName, TypeVersion
from attestlab.web.paging import OffsetPageQuery

ReceiptSubject = Annotated[str, StringConstraints(max_length=SUBJECT_LIMIT_CHARS)]
RetentionPolicyName = Annotated[str, one_of(RetentionPolicy)]


class ReceiptIn(In, source="CONTRACT 11.5"):
    """A receipt to mint."""

    receipt_type: TypeName
    """The type, which says what the payload conforms to. Format: 1-64 of a-z 0-9 _ . -."""
    receipt_version: TypeVersion | None = None
    """The version of the type; its newest active one if left out. Format: Semantic Versioning 2.0.0."""
    issuer_id: Uuid
    """The issuer that attests; it must be ACTIVE. Format: UUID, 36 characters."""
    kid: Kid | None = None
    """The issuer's key that signs; its newest active one if left out. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: Algorithm | None = None
    """The algorithm of that key. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    subject: ReceiptSubject = ""
    """Whom or what the receipt is about; only its hash is signed. Format: text, at most 256 characters."""
    payload: dict[str, JsonValue]
    """What happened; only its hash is signed. Format: JSON that the type's schema accepts, at most 64 KB."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """The caller's own data; not signed. Format: JSON, at most 16 KB."""
    retention_policy: RetentionPolicy = RetentionPolicy.STANDARD
    """How long the payload is kept: a year, seven, or for good. Format: standard, extended or permanent."""
    id: Uuid | None = None
    """External keys: the id that was signed. Format: UUID, 36 characters."""
    created_at: Moment | None = None
    """External keys: the time that was signed. Format: RFC 3339 date-time with an offset."""
    nonce: Annotated[str, StringConstraints(min_length=22, max_length=24)] | None = None
    """External keys: the nonce of the subject's hash that was signed. Format: 16 bytes, base64url."""
    signature: str | None = None
    """External keys: the signature. Format: compact JWS, RFC 7515."""


class ReceiptSignatureOut(Out, source="CONTRACT 11.5"):
    """The issuer's signature over the statement of a receipt."""

    alg: AlgorithmName
    """The algorithm of the key. Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512."""
    kid: str
    """The key that signed. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    value: str
    """The signature. Format: compact JWS, RFC 7515."""


class ReceiptLogOut(Out, source="CONTRACT 11.5"):
    """The place of a receipt in the log."""

    log_id: str
    """The log. Format: the log's origin."""
    leaf_index: int
    """The index of the receipt's entry. Format: from 0."""
    leaf_hash: str
    """The hash of that entry as a leaf. Format: sha256: and 64 hex digits."""


class ReceiptOut(Out, source="CONTRACT 11.5"):
    """A receipt with its current status."""

    receipt_id: Uuid
    """The receipt. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the issuer. Format: UUID, 36 characters."""
    receipt_type: str
    """The type. Format: 1-64 of a-z 0-9 _ . -."""
    receipt_version: str
    """The version of the type. Format: Semantic Versioning 2.0.0."""
    schema_hash: str
    """The signed hash of the type's schema. Format: base64url SHA-256, 43 characters."""
    status: Annotated[str, one_of(ReceiptStatus)]
    """Its status. Format: ACTIVE or REVOKED."""
    subject: str | None
    """Whom or what it is about; null once redacted. Format: text, at most 256 characters."""
    nonce: str | None
    """The nonce of the subject's hash; null once redacted. Format: 16 bytes, base64url."""
    subject_hash: str
    """The signed hash of nonce and subject. Format: base64url SHA-256, 43 characters."""
    issuer_id: Uuid
    """The issuer that attests. Format: UUID, 36 characters."""
    payload: dict[str, JsonValue] | None
    """What happened; null once redacted. Format: JSON that the type's schema accepts."""
    payload_hash: str
    """The signed hash of the payload as RFC 8785 canonical JSON. Format: base64url SHA-256, 43 characters."""
    metadata: dict[str, JsonValue] | None
    """The caller's own data; not signed, null once redacted. Format: JSON, at most 16 KB."""
    retention_policy: RetentionPolicyName
    """How long the payload is kept. Format: standard, extended or permanent."""
    retain_until: Moment | None
    """When the service redacts it; null for permanent. Format: RFC 3339 date-time, UTC, milliseconds."""
    signature: ReceiptSignatureOut
    """The issuer's signature."""
    log: ReceiptLogOut
    """Its place in the log."""
    log_index: int
    """The same as log.leaf_index. Format: from 0."""
    issued_at: Moment
    """When it was minted; the statement has it as created_at. Format: RFC 3339 date-time, UTC, milliseconds."""
    revoked_at: Moment | None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds."""
    revocation_reason: str | None
    """Why it was revoked, if that was given. Format: text, at most 1000 characters."""
    status_log_index: int | None
    """The log entry of the revocation; null while there is none. Format: from 0."""
    redacted_at: Moment | None
    """When payload, subject and metadata were deleted. Format: RFC 3339 date-time, UTC, milliseconds."""
    verify_url: str
    """Where anyone can verify it: POST its receipt_id. Format: URL."""


def _read_status(value: object) -> object:
    """Read a status as clients write it whose own constants are in small letters."""
    return value.upper() if isinstance(value, str) else value


class ReceiptFilters(Filters, source="CONTRACT 11.5"):
    """Filters of receipts; `from` is inclusive, `to` exclusive."""

    receipt_type: Annotated[TypeName | None, Where("receipt_type")] = None
    """Only receipts of this type. Format: 1-64 of a-z 0-9 _ . -."""
    issuer_id: Annotated[Uuid | None, Where("issuer_id")] = None
    """Only receipts of this issuer. Format: UUID, 36 characters."""
    status: Annotated[ReceiptStatus | None, BeforeValidator(_read_status), Where("status")] = None
    """Only receipts with this status. Format: ACTIVE or REVOKED, in capitals or not."""
    subject: Annotated[ReceiptSubject | None, Where("subject")] = None
    """Only receipts about exactly this subject. Format: text, at most 256 characters."""
    since: Annotated[Moment | None, Where("created_at", ">=")] = Field(default=None, alias="from")
    """Only receipts minted at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, Where("created_at", "<")] = Field(default=None, alias="to")
    """Only receipts minted before this moment. Format: RFC 3339 date-time with an offset."""


class ReceiptsQuery(OffsetPageQuery, ReceiptFilters, source="CONTRACT 11.5"):
    """The query of the list of receipts."""


class ExportReceiptsQuery(ReceiptFilters, wire_name="receipt_export_query", source="CONTRACT 11.5"):
    """Filters of the receipts to export, as of the list, and the format of the file."""

    format: Annotated[Literal["csv", "json", "parquet"], NO_CONDITION]
    """The format of the file. Format: csv, json or parquet."""


class ReceiptStatusProofOut(StatusChainsOut, source="CONTRACT 11.5"):
    """Status entries of the receipt, its key and its issuer, and the newest status list."""

    receipt: LoggedOut | None
    """The entry of the receipt's revocation; null while there is none."""


class ReceiptBundleOut(Out, wire_name="receipt_proof_bundle", source="CONTRACT 11.5"):
    """Everything needed to verify a receipt offline."""

    format: Literal["attestlab-bundle/1"]
    """The format; a verifier that does not know it cannot check the bundle. Format: attestlab-bundle/1."""
    receipt: ReceiptOut
    """The receipt; with key.algorithm it gives the signed statement."""
    issuer: BundleIssuerOut
    """The issuer, for human readers; the log has the digest of name and domain."""
    key: BundleKeyOut
    """The public key; the log entry contains its hash."""
    inclusion_proof: ProofOut
    """The path from the entry to the root."""
    signed_tree_head: TreeHeadOut
    """The head that the path leads to."""
    log_entry: LogEntryOut
    """The entry's bytes, and the nonce that opens its commitment."""
    status_proof: ReceiptStatusProofOut
    """The status of the receipt, its key and its issuer, proven by entries of the log."""
    tlog_proof: str
    """The same proof in a standard form that other tools read. Format: C2SP tlog-proof, text."""


class VerifyReceiptIn(In, wire_name="receipt_verification_input", source="CONTRACT 11.5"):
    """The receipt to verify, and the payload that the verifier holds."""

    receipt_id: Uuid
    """The receipt to verify. Format: UUID, 36 characters."""
    payload: dict[str, JsonValue] | None = None
    """The payload that the verifier holds, to be compared with what was attested. Format: JSON object."""


class VerifyReceiptOut(VerificationOut, wire_name="receipt_verification_response", source="CONTRACT 11.5"):
    """A verification of a receipt."""

    receipt_id: Uuid
    """The receipt in the request. Format: UUID, 36 characters."""


class RevokeReceiptIn(In, wire_name="receipt_revocation_input", source="CONTRACT 11.5"):
    """Why a receipt is revoked; the log contains only a commitment to it."""

    reason: ReceiptReason | None = None
    """Why it is revoked. Format: text, 1-1000 characters."""


class RedactReceiptIn(In, wire_name="receipt_redaction_input", source="CONTRACT 11.5"):
    """Why a receipt is redacted; the audit trail has it."""

    reason: ReceiptReason | None = None
    """Why it is redacted. Format: text, 1-1000 characters."""


class SearchReceiptsIn(ReceiptFilters, wire_name="receipt_search_input", source="CONTRACT 11.5"):
    """A search of receipts; all of its parts are combined."""

    q: Annotated[Annotated[str, StringConstraints(min_length=1, max_length=256)] | None, NO_CONDITION] = None
    """A text in subject, type or metadata, in any case. Format: text, 1-256 characters."""
    limit: Annotated[int, Field(ge=1, le=100), NO_CONDITION] = 50
    """The number of receipts in the answer. Format: 1-100, by default 50."""
    offset: Annotated[int, Field(ge=0, le=2**31), NO_CONDITION] = 0
    """The number of receipts to skip. Format: from 0."""


class FoundReceiptsOut(Out, wire_name="receipt_search", source="CONTRACT 11.5"):
    """The receipts that a search found."""

    items: list[ReceiptOut]
    """The receipts of this page. Format: newest first."""
    total: int
    """The number of all that match. Format: from 0."""


class ReceiptStatementMembers(Out, wire_name="receipt_statement", source="CONTRACT 11.5"):
    """The statement that an issuer's key signs, as RFC 8785 canonical JSON; for the data dictionary."""

    v: int
    """Version of the statement. Format: 1."""
    kind: Literal["receipt"]
    """What it is a statement of. Format: receipt."""
    id: str
    """The receipt. Format: UUID, 36 characters."""
    issuer_id: str
    """The issuer that attests. Format: UUID, 36 characters."""
    kid: str
    """The key that signs. Format: 1-64 of A-Z a-z 0-9 . _ : -."""
    alg: str
    """The specification's name of the algorithm; the JWS header has EdDSA for Ed25519.
    Format: Ed25519, ES256, ES384, ES512, RS256, RS384, RS512, PS256, PS384 or PS512.
    """
    receipt_type: str
    """The type of the receipt. Format: 1-64 of a-z 0-9 _ . -."""
    receipt_version: str
    """The version of the type. Format: Semantic Versioning 2.0.0."""
    schema_hash: str
    """Hash of the type's schema as RFC 8785 canonical JSON. Format: base64url SHA-256, 43 characters."""
    subject_hash: str
    """Hash of the receipt's nonce followed by the subject in UTF-8. Format: base64url SHA-256, 43 characters."""
    payload_hash: str
    """Hash of the payload as RFC 8785 canonical JSON. Format: base64url SHA-256, 43 characters."""
    created_at: str
    """When it was minted. Format: RFC 3339 date-time, UTC, milliseconds."""
