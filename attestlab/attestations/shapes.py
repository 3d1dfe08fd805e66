"""Wire models of attestations (SPEC, Resources; CONTRACT sections 5 and 6)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, JsonValue, StrictBool, StringConstraints
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from attestlab.attestations.rules import Reason, Status, Verdict
from attestlab.attestations.schemas.catalogue import CATALOGUE, ContentType
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import Email, In, Moment, Out, SecretText, Sha256Hex, Uuid, one_of
from attestlab.issuers.shapes import AlgorithmName, CustodyName, IssuerStatusName, RiskRatingName, TrustTierName
from attestlab.web.paging import OffsetPageQuery
from attestlab.web.problems import ErrorEnvelope

Kid = Annotated[str, StringConstraints(min_length=1, max_length=64)]


def _require_known_schema(name: str) -> str:
    if name not in CATALOGUE:
        raise ValueError("unknown schema; GET /v1/schemas lists the valid ones")
    return name


SchemaId = Annotated[str, one_of(CATALOGUE)]
KnownSchema = Annotated[SchemaId, AfterValidator(_require_known_schema)]
ReasonCode = Annotated[str, one_of(Reason)]
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


class ProofOut(Out):
    """An inclusion proof; `hashes` are ordered from leaf to root, each `sha256:<hex>`."""

    log_index: int
    tree_size: int
    leaf_hash: str
    root_hash: str
    hashes: list[str]


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


class TreeHeadOut(Out):
    """A signed tree head; a verifier must trust only the `checkpoint` note."""

    tree_size: int
    root_hash: str
    signature: str
    checkpoint: str
    timestamp: Moment
    cosignatures: list[str]


class LogEntryOut(Out):
    """The log entry (standard base64) and the nonce (hex) that opens its commitment."""

    entry_b64: str
    nonce: str


class LoggedOut(Out):
    """A log entry (standard base64) and its path to the root of the bundle's checkpoint, leaf to root."""

    entry_b64: str
    log_index: int
    hashes: list[str]


class ChainOut(Out):
    """The first and the newest status entry of a key or an issuer, which are the same until the first change.

    For a revoked issuer, `newest` is the entry that revoked it.
    """

    first: LoggedOut
    newest: LoggedOut


class IssuerChainOut(ChainOut):
    """The status entries of an issuer; `profile` is an entry after the one that revoked it, and names the issuer."""

    profile: LoggedOut | None


class ChunkOut(Out):
    """A chunk of a status list (standard base64) and its path to the list's digest."""

    number: int
    data_b64: str
    hashes: list[str]


class StatusListOut(Out):
    """A status list that is in the log, with its chunks that cover the attestation, its key and its issuer."""

    entry: LoggedOut
    chunks: list[ChunkOut]


class StatusProofOut(Out):
    """Status entries of the attestation, its key and its issuer, and the newest status list."""

    attestation: LoggedOut | None
    key: ChainOut
    issuer: IssuerChainOut
    list: StatusListOut | None


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


class SchemaOut(Out):
    """A schema of the catalogue."""

    id: str
    json_schema: dict[str, JsonValue] = Field(serialization_alias="schema")
