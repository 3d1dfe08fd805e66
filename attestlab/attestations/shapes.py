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


class MintIn(In):
    """An attestation to mint."""

    issuer_id: Uuid
    kid: Kid
    alg: Algorithm
    schema_id: SchemaId = Field(alias="schema")
    claims: dict[str, JsonValue]
    recipient_email: Email | None = None
    document_hash: str | None = None
    payload_b64url: str | None = None
    pack_id: Uuid | None = None
    content_type: ContentType = ContentType.JSON
    expiry_at: Moment | None = None
    expiry_from_claims: StrictBool = False
    subject_reference: Annotated[str, StringConstraints(max_length=256)] | None = None
    metadata: dict[str, JsonValue] | None = None
    id: Uuid | None = Field(default=None, description="External keys: the id that was signed.")
    created_at: Moment | None = Field(default=None, description="External keys: the time that was signed.")
    signature: str | None = Field(default=None, description="External keys: the compact JWS.")


class SupersedeIn(MintIn):
    """An attestation that replaces another; without `issuer_id` its issuer is that of the replaced one."""

    issuer_id: Uuid | None = None  # type: ignore[assignment]  # required in a mint, optional here


class RevokeIn(In):
    """Reason for a revocation; the log contains only a commitment to it."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]


class RevokedOut(Out):
    """A revocation; `log_index` is its log entry."""

    id: Uuid
    attestation_id: Uuid
    status: Status
    revoked_at: Moment
    revocation_reason: str
    log_index: int


class MintOut(Out):
    """A minted attestation with its proof of inclusion in the log."""

    id: Uuid
    attestation_id: Uuid
    issuer_id: Uuid
    kid: str
    alg: AlgorithmName
    schema_id: SchemaId = Field(serialization_alias="schema")
    status: Status
    log_index: int
    payload_hash: str
    document_hash: str | None
    expiry_at: Moment | None
    created_at: Moment
    verify_url: str
    share_url: SecretText
    inclusion_proof: ProofOut
    checkpoint: str
    warnings: list[str]


class AttestationOut(Out):
    """An attestation with its current status."""

    id: Uuid
    attestation_id: Uuid
    issuer_id: Uuid
    kid: str
    alg: AlgorithmName
    status: Status
    schema_id: SchemaId = Field(serialization_alias="schema")
    content_type: ContentTypeName
    payload: dict[str, JsonValue]
    payload_hash: str
    document_hash: str | None
    signature: str
    custody: CustodyName
    log_index: int
    expiry_at: Moment | None
    superseded_by_attestation_id: Uuid | None
    revocation_reason: str | None
    revoked_at: Moment | None
    status_log_index: int | None
    supersedes_attestation_id: Uuid | None
    pack_id: Uuid | None
    subject_reference: str | None
    metadata: dict[str, JsonValue] | None
    created_at: Moment


class AttestationsQuery(OffsetPageQuery, Filters):
    """Filters of the list of attestations; `from` is inclusive, `to` exclusive."""

    issuer_id: Annotated[Uuid | None, Where("issuer_id")] = None
    status: Annotated[Status | None, NO_CONDITION] = None  # the store's: VALID and EXPIRED depend on the time
    schema_id: Annotated[KnownSchema | None, Where("schema_id")] = Field(default=None, alias="schema")
    kid: Annotated[str | None, Where("kid")] = None
    document_hash: Annotated[Sha256Hex | None, Where("document_hash")] = None
    pack_id: Annotated[Uuid | None, Where("pack_id")] = None
    since: Annotated[Moment | None, Where("created_at", ">=")] = Field(default=None, alias="from")
    until: Annotated[Moment | None, Where("created_at", "<")] = Field(default=None, alias="to")

    @property
    def passes_over_rows(self) -> bool:
        """Whether the query may read rows that are not in the response; no index serves every filter."""
        return bool(self.rows_to_skip or self.given_filters)


class SupersededOut(Out):
    """A supersession: the old attestation with its new status, and the new one with its proof."""

    old: AttestationOut
    new: MintOut


class BundleIssuerOut(Out):
    """The issuer of a bundle's attestation; for display, not part of the proof."""

    id: Uuid
    name: str
    domain: str
    trust_level: TrustTierName


class BundleKeyOut(Out):
    """The signing key; `public_key` is SubjectPublicKeyInfo, base64url."""

    kid: str
    algorithm: AlgorithmName
    public_key: str


class BundleOut(Out):
    """Everything needed to verify an attestation offline."""

    format: Literal["attestlab-bundle/1"]
    attestation: AttestationOut
    issuer: BundleIssuerOut
    key: BundleKeyOut
    inclusion_proof: ProofOut
    signed_tree_head: TreeHeadOut
    log_entry: LogEntryOut
    status_proof: StatusProofOut
    tlog_proof: str


class PackIn(In):
    """A verification pack to create."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None


class PackOut(Out):
    """A verification pack: a group of related attestations."""

    id: Uuid
    name: str
    description: str | None
    created_at: Moment


class _MintItem:
    """Describes each batch item as a mint body in OpenAPI, though items are validated one by one.

    So an invalid item fails alone, and not the whole batch.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(MintIn.__pydantic_core_schema__)


_Item = Annotated[object, _MintItem]


class BatchIn(In):
    """Up to a hundred attestations to mint in one append to the log; each succeeds or fails separately."""

    items: Annotated[list[_Item], Field(min_length=1, max_length=100)]


class BatchItemOut(Out):
    """Result of one item of a batch: the attestation or an error."""

    index: int
    http_status: int
    attestation: MintOut | None = Field(default=None, exclude_if=lambda value: value is None)
    error: ErrorEnvelope | None = Field(default=None, exclude_if=lambda value: value is None)


class BatchOut(Out):
    """Results of a batch, in the order of the request's items."""

    items: list[BatchItemOut]


class SchemaOut(Out):
    """A schema of the catalogue."""

    id: str
    json_schema: dict[str, JsonValue] = Field(serialization_alias="schema")
